package bench

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	_ "gonum.org/v1/plot/vg/vgimg" // .png
	_ "gonum.org/v1/plot/vg/vgsvg" // .svg
)

// CheckPlot tells whether a file can be plotted to.
func CheckPlot(file string) error {
	switch filepath.Ext(file) {
	case ".svg", ".png":
		return nil
	}
	return fmt.Errorf("a plot is an .svg or a .png file, %q is neither", file)
}

// Plot draws the cost of a put over the slots of the store, both on logarithmic
// axes, for puts of batch keys and the first payload size. The end of the file's
// name says which format.
func (c *Costs) Plot(file string, batch int) error {
	p := plot.New()
	p.Title.Text = "What one put costs as the store grows"
	p.Title.TextStyle.Font.Size = vg.Points(14)
	p.Title.Padding = vg.Points(8)
	p.X.Label.Text = "slots of the store, full, most keys referenced"
	p.Y.Label.Text = fmt.Sprintf("time of a put of %d new keys", batch)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker = decades(func(v float64) string { return thousands(int64(v)) })
	p.Y.Tick.Marker = decades(func(v float64) string { return time.Duration(math.Round(v)).String() })
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{230}, color.Gray{230}
	p.Add(grid)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(8), vg.Points(-4)
	p.Legend.Padding = vg.Points(3)
	p.Legend.TextStyle.Font.Size = vg.Points(11)

	drawn := 0
	lowest, highest := math.Inf(1), 0.0
	for i, arm := range c.Arms {
		var points plotter.XYs
		for _, at := range c.Points {
			if at.Arm == arm && at.Batch == batch && at.Payload == c.Points[0].Payload {
				points = append(points, plotter.XY{X: float64(at.Slots), Y: at.PutNs.Median})
				lowest, highest = min(lowest, at.PutNs.Median), max(highest, at.PutNs.Median)
			}
		}
		if len(points) < 2 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color = palette[i%len(palette)]
		line.Width = vg.Points(2)
		dots.Color, dots.Shape, dots.Radius = line.Color, draw.CircleGlyph{}, vg.Points(3)
		name := arm + ", CPython"
		if arm == CopyAlone {
			name = arm
			line.Dashes = []vg.Length{vg.Points(2), vg.Points(3)}
			line.Color, dots.Color = color.Gray{110}, color.Gray{110}
		} else if variant, isGo := strings.CutPrefix(arm, "model:"); isGo {
			name = variant + ", Go"
			line.Dashes = []vg.Length{vg.Points(6), vg.Points(3)}
		}
		p.Add(line, dots)
		p.Legend.Add(name, line, dots)
		drawn++
	}
	if drawn == 0 {
		return errors.New("nothing to plot: a plot needs stores of at least two sizes")
	}
	// Whole decades, and two more above for the legend.
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(lowest)))
	p.Y.Max = math.Pow(10, math.Ceil(math.Log10(highest))+2)
	return p.Save(8*vg.Inch, 5.5*vg.Inch, file)
}

// palette is told apart by people who see colours differently, too.
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{120, 94, 240, 255}, color.RGBA{0, 0, 0, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{230, 159, 0, 255},
}

// decades puts a tick at each power of ten and names it.
type decades func(v float64) string

// Ticks gives the powers of ten from low to high, and the small ticks between.
func (name decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high*1.001; decade *= 10 {
		for m := range 9 {
			if v := decade * float64(m+1); v >= low*0.999 && v <= high*1.001 {
				tick := plot.Tick{Value: v}
				if m == 0 {
					tick.Label = name(v)
				}
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// PlotBatch is the batch size that a plot shows: the middle one.
func (c *StoreCost) PlotBatch() int {
	sorted := slices.Sorted(slices.Values(c.Batches))
	return sorted[len(sorted)/2]
}
