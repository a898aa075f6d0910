package figure

import "strings"

// texTable has the commands of TeX for characters that are not themselves in it. Everything else
// that [inTeX] accepts is written as it is.
var texTable = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`,
	'_': `\_`, '^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '<': `\textless{}`,
	'>': `\textgreater{}`, '|': `\textbar{}`, '"': `\textquotedbl{}`, '\'': `\textquotesingle{}`,
	'`': `\textasciigrave{}`, '-': `{-}`, '…': `\ldots{}`, '·': `\textperiodcentered{}`,
	'×': `$\times$`, '÷': `$\div$`, '½': `\textonehalf{}`, '→': `$\rightarrow$`,
	'←': `$\leftarrow$`, '↑': `$\uparrow$`, '↓': `$\downarrow$`, '−': `$-$`, '–': `\textendash{}`,
	'—': `\textemdash{}`, '≤': `$\leq$`, '≥': `$\geq$`, '≈': `$\approx$`, '∞': `$\infty$`,
	'Σ': `$\Sigma$`, 'Δ': `$\Delta$`, '§': `\S{}`, '¶': `\P{}`, '‹': `\guilsinglleft{}`,
	'›': `\guilsinglright{}`, '“': `\textquotedblleft{}`, '”': `\textquotedblright{}`,
	'‘': `\textquoteleft{}`, '’': `\textquoteright{}`, '²': `\texttwosuperior{}`,
	'³': `\textthreesuperior{}`, '¹': `\textonesuperior{}`, '°': `\textdegree{}`,
	'±': `\textpm{}`, '€': `\texteuro{}`, '£': `\pounds{}`, '©': `\textcopyright{}`,
	'│':       `\textbar{}`,       // between the texts of two prompts
	'▸':       `$\triangleright$`, // where a target begins
	spaceMark: `\textvisiblespace{}`,
}

// inTeX reports whether pdflatex with the preamble of [texHead] can write a character: ASCII, the
// letters of Latin-1 and Latin Extended-A, and those of the table.
func inTeX(r rune) bool {
	_, listed := texTable[r]
	return listed || r >= 0x20 && r < 0x7f || r >= 0xc0 && r <= 0x17f && r != 'ŀ' && r != 'Ŀ' &&
		r != 'ŉ' && r != 'ſ' && r != 'Ħ' && r != 'ħ' && r != 'Ŧ' && r != 'ŧ' && r != 'ĸ'
}

// escapeTeX returns a text that TeX typesets as it is: no character of it is a command.
func escapeTeX(text string) string {
	var b strings.Builder
	for _, r := range text {
		if s, ok := texTable[r]; ok {
			b.WriteString(s)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// texHead begins a document of one figure. Its font, a Helvetica, has the widths by which the
// figure was laid out.
const texHead = `\documentclass[border=0pt]{standalone}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage[scaled=1]{helvet}
\renewcommand{\familydefault}{\sfdefault}
\usepackage{pgf}
\begin{document}
`

const texTail = "\\end{document}\n"
