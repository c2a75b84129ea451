package term

import "strings"

// ascii are characters that this program prints, as terminals without them show
// something like it, mostly of the same width, so that tables stay tables.
var ascii = strings.NewReplacer(
	"−", "-", "–", "-", "—", "-", "·", ".", "…", "~", "µ", "u", "μ", "u", "±", "~", "’", "'", "“", `"`, "”", `"`,
	"≤", "<=", "≥", ">=", "×", "x", "÷", "/", "→", "->", "√", "sqrt ", "²", "^2", "³", "^3", "½", "1/2", "σ", "sigma", "τ", "tau",
	"─", "-", "│", "|", "├", "|", "┤", "|", "┃", "#", "█", "#", "▓", "=", "▒", "=", "░", "-", "●", "+", "○", "?", "◆", "x",
	"▲", "^", "▼", "v", "◂", "<", "▸", ">", "✓", "ok", "\u00a0", " ", "\u202f", " ",
	"▁", "_", "▂", ".", "▃", "-", "▄", ":", "▅", "=", "▆", "+", "▇", "*",
)

// ASCII writes what this program prints with ASCII characters only. What came from
// elsewhere stays as it is.
func ASCII(text string) string { return ascii.Replace(text) }
