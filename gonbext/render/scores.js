// Bars under the tokens of a text, for one kind of scores at a time, and a line with the numbers of
// a token. data.scores has the scores of each token as JSON has them, null for none. common.js and
// matrix.js stand before it.

// tallest is the height of the longest bar in px, which fits between two lines of text.
const tallest = 6;

// contributionOf is how much of the row of a token comes from the source of a model of two stacks.
const contributionOf = ({source}, row) => source && row >= 0 ? source[row] ?? undefined : undefined;
// kindsOf returns the kinds of bars that a text has.
const kindsOf = ({scores, methods}) => ['surprisal', 'entropy', 'kl'].filter(
  (kind) => scores && scores.some((score) => score && score[kind] !== undefined)).concat(
  scores && methods?.some(({source}) => source) ? ['source'] : []);
// barsShown returns the kind of bars that is shown, '' for none: what a reader chose, else what the
// picture was asked for.
function barsShown(data, choice) {
  const kinds = kindsOf(data);
  if (choice.bars !== undefined) return kinds.includes(choice.bars) ? choice.bars : '';
  if (kinds.includes('kl')) return 'kl';
  if (kinds.includes('source')) return 'source';
  const ofPrompt = kinds.length && !data.positions && data.scores.findIndex(Boolean) < data.m;
  return ofPrompt ? kinds[0] : '';
}
// nextBars returns the kind of bars after the one that is shown, '' after the last one.
function nextBars(data, choice) {
  const kinds = kindsOf(data);
  return kinds[kinds.indexOf(barsShown(data, choice)) + 1] || '';
}
const scoresSwitch = (data, choice, go) => data.scores ? [switchOf(
  'scores', () => barsShown(data, choice), () => go({bars: nextBars(data, choice)}))] : [];
const nats = (value) => value.toFixed(2).replace('-', '−');
const scoresNote = (score) => !score ? 'no scores' : 'surprisal ' + nats(score.surprisal) +
  ' nats · entropy ' + nats(score.entropy) + ' · rank ' + score.rank +
  (score.kl === undefined ? '' : ' · without that part: KL ' + nats(score.kl) + ', ln p ' +
    (score.gain < 0 ? '+' : '') + nats(-score.gain) +
    (score.otherwise ? ', “' + score.otherwise.text + '” most probable' : ''));

// addScores adds the line below the text, which tells of the token that a reader points at.
function addScores(view) {
  const {data, find, texts} = view, text = find('text');
  if (!data.scores) return;
  text.after(make('div', {className: 'hm-scores hm-dim'}));
  text.addEventListener('pointerover', ({target}) => {
    const token = tokenAt(texts, target.closest('span,u'));
    if (token >= 0) tellScores(view, token);
  });
  text.addEventListener('pointerleave', () => tellScores(view));
}
function drawScores(view) {
  const {data, choice, texts, method, rowAt} = view, kind = barsShown(data, choice);
  if (!data.scores) return;
  const most = mostOf(data, kind);
  texts.forEach((element, token) => {
    const score = data.scores[token], height = kind === 'source' ?
      tallest * (contributionOf(method(), rowAt(token)) || 0) :
      kind && score ? tallest * score[kind] / most : 0;
    if (height > 0) {
      element.style.boxShadow = '0 ' + height.toFixed(1) + 'px ' +
        (kind === 'kl' && score.sensitive ? 'var(--ink)' : 'var(--faint)') +
        (kind === 'source' ? ',0 ' + tallest + 'px var(--rule)' : '');
    }
  });
  tellScores(view);
}
const mostOf = ({scores}, kind) =>
  Math.max(smallest, ...scores.map((score) => score && score[kind] || 0));
// tellScores writes the numbers of a token, by default that of the row or of the source.
function tellScores(view, pointed) {
  const {data, choice, find, names, row, source, tokenOf, method, rowAt} = view;
  const line = find('scores'), kind = barsShown(data, choice);
  line.hidden = !kind;
  if (!kind) return;
  const token = pointed ?? (source() >= 0 ? source() : tokenOf(row()));
  const of = contributionOf(method(), rowAt(token));
  line.replaceChildren(bold(names[token] || ''), (of === undefined ? '' :
    ' · source contribution ' + fixed(100 * of, 1) + ' %') + ' · ' +
    scoresNote(data.scores[token]) +
    ' · bars: ' + (kind === 'source' ?
    'source contribution' + (method().source ? '' : ', which ' +
    'this method does not tell; --methods alti tells it') :
    (kind === 'kl' ? 'KL, dark: sensitive' : kind) + ', up to ' + nats(mostOf(data, kind)) +
    ' nats'));
}
