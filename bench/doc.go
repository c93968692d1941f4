// Package bench measures: how fast comparing goes beside the bare store and
// beside other ways of comparing, and what a put costs as a store grows.
//
// Everything that is set side by side runs in turns in one go, because a figure
// from another hour or machine says nothing; what is reported is the median of
// the rounds, and ratios are taken within a round. The scripts in peers/ are the
// Python sides. Nothing here judges a store, and nothing is measured that does
// not also run in a campaign or a worker.
package bench
