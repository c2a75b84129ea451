package chart

// TextOptions are what a terminal can do.
type TextOptions struct {
	Width int // columns; 0 is 80
	ASCII bool
	Color bool
}

// Text draws a chart as lines for a terminal; nil when a terminal cannot carry
// it. Rows of bars, intervals and boxes are drawn row by row, with what stands
// beside them; lines and steps as one sparkline each.
func Text(c Chart, o TextOptions) []string { return nil }
