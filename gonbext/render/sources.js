// Adds touch to a picture of sources that is complete without it: a menu of colours, and over the
// documents a line with the score of the source that is pointed at. sourcesData in sources.go has
// the fields of data. All text is set as text, never as markup. common.js stands before it.
function start(root, data) {
  const choice = choices(data.id, root, {open: {}});
  root.querySelectorAll('.hm-text').forEach((text, i) => {
    const readout = make('div', {className: 'hm-readout'});
    const all = [...text.querySelectorAll('span')];
    readout.setAttribute('aria-live', 'polite');
    text.before(readout);
    text.onpointerover = text.onclick = ({target}) => {
      const j = all.indexOf(target);
      if (j < 0) return;
      const score = make('b', {textContent: data.scores[i][j]});
      readout.replaceChildren(score, ' ' + target.textContent);
    };
  });
  liven(root, data, choice);
}

begin('.hm-sources', start);
