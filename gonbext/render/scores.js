// Bars under the tokens of a text, for one kind of scores at a time, and a line with the numbers of
// a token. scores.go has the fields of data.scores. common.js and matrix.js stand before it.

// tallest is the height of the longest bar in px, which fits between two lines of text.
const tallest = 6;

// barsShown is the number of the kind of bars that is shown, -1 for none.
const barsShown = ({scores}, choice) =>
  !scores ? -1 : choice.bars === undefined ? scores.opens : choice.bars;

// scoresSwitch returns the switch that goes from one kind of bars to the next, and to none.
function scoresSwitch(data, choice, go) {
  if (!data.scores) return [];
  const shown = () => barsShown(data, choice), count = data.scores.kinds.length;
  return [switchOf('scores', () => shown() >= 0,
    () => go({bars: shown() + 1 < count ? shown() + 1 : -1}))];
}
// addScores adds the line below the text, which tells of the token that a reader points at.
function addScores(view) {
  const {data, find, texts} = view, text = find('text');
  if (!data.scores) return;
  text.after(make('div', {className: 'hm-scores hm-dim'}));
  text.addEventListener('pointerover', ({target}) => {
    const token = texts.findIndex(({element}) => element === target.closest('span,u'));
    if (token >= 0) tellScores(view, token);
  });
  text.addEventListener('pointerleave', () => tellScores(view));
}
function drawScores(view) {
  const {data, choice, texts} = view, kind = data.scores?.kinds[barsShown(data, choice)];
  if (kind) {
    texts.forEach(({element}, token) => {
      const part = kind.parts[token], color = kind.sensitive?.includes(token) ? 'ink' : 'faint';
      if (part > 0) {
        element.style.boxShadow = '0 ' + (tallest * part).toFixed(1) + 'px var(--' + color + ')';
      }
    });
  }
  tellScores(view);
}
// tellScores writes the numbers of a token, by default that of the row or of the source.
function tellScores({data, choice, find, names, row, source, tokenOf}, pointed) {
  const line = find('scores'), kind = data.scores?.kinds[barsShown(data, choice)];
  if (!line) return;
  line.hidden = !kind;
  if (!kind) return;
  const token = pointed ?? (source() >= 0 ? source() : tokenOf(row()));
  line.replaceChildren(bold(names[token] || ''), ' · ' + (data.scores.notes[token] || 'no scores') +
    ' · bars: ' + kind.name + ', up to ' + kind.most +
    (kind.sensitive ? ', dark: sensitive' : ''));
}
