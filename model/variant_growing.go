package model

// growing is free-queue without a capacity error: when every eligible key is
// evicted and the rest still does not fit, the arena grows to the stored keys or
// twice its slots, whichever is more, and stays so.
var growing = variant{name: "growing", restore: restoreAtTail, grows: true}
