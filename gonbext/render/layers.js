// Adds touch to panels of layers that are complete without it: pointing at a place, or going there
// with the keys, shows its layer, its token and its number, and marks the same place in the other
// panels. layersData in layers.go has the fields of data. common.js stands before it.

// numberOf is a value of a panel as a reader sees it.
function numberOf(panel, x) {
  if (x !== x) return 'no number';
  if (panel.lift) return '×' + (2 ** x).toPrecision(3);
  return panel.percent ? (100 * x).toFixed(1) + ' %' : x.toPrecision(3);
}

function start(root, data) {
  const text = root.querySelector('.hw-t');
  const tokens = [...text.querySelectorAll(':scope > span, :scope > u')];
  const choice = choices(data.id, root, {});
  const panels = [], names = []; // of each panel, its method and its token
  let method = '';
  root.querySelectorAll('.hw-n, .hw-d').forEach((element) => {
    if (element.className === 'hw-n') {
      method = element.textContent;
      return;
    }
    const token = element.querySelector('b').textContent;
    names[panels.push(element) - 1] = method + ', ' + token + ' ← ';
  });
  const layerCount = (n) => ((data.panels[n] || {}).layers || []).length;
  // sourceCount is how many tokens have a column in panel n: the prompt, then the generated tokens
  // before its own.
  const sourceCount = (n) => data.promptTokens + (data.panels[n].generated || 0);
  // lineOf is 1 if the image of a panel has a line before the generated tokens. columnOf is where
  // token j stands there, and columnCount how many places there are.
  const lineOf = (n) => data.panels[n].line || 0;
  const columnOf = (n, j) => j < data.promptTokens ? j : j + lineOf(n);
  const columnCount = (n) => sourceCount(n) + lineOf(n);
  const sentence = make('div');
  sentence.setAttribute('style', 'font-size:12px;min-height:1.5em');
  sentence.setAttribute('aria-live', 'polite');
  text.after(sentence);
  const bar = make('div', {className: 'hw-b'});
  bar.append(colorButton(data, choice, (from, to) => {
    show({n: place.n, j: -1, k: -1});
    recolor(root, from, to);
  }));
  root.querySelectorAll('.hw-b').forEach((element) => element.remove());
  sentence.after(bar);
  const boxes = panels.map((panel) => {
    const image = panel.querySelector('img.hw-j');
    return image && image.parentElement;
  });
  // place is what is shown: a panel n, a token j and a layer k.
  let place = {n: 0, j: -1, k: -1}, outlined = [];
  function describe({n, j, k}) {
    const panel = data.panels[n];
    return (panel.combined ? 'up to layer ' : 'layer ') + panel.layers[k] + ' · ' +
      quoted(tokens[j].textContent, j, data.promptTokens, 'generated') + ' ' +
      numberOf(panel, valueOf(panel.rows[k], j));
  }
  // show shows a place, or with j = -1 none; before is what to say before it.
  function show(next, before = '') {
    const {n, j, k} = place = next;
    sentence.textContent = j < 0 ? '' : before + describe(next);
    outlined.forEach((element) => style(element, element.hwStyle));
    outlined = j < 0 ? [] : [tokens[j]];
    panels.forEach((panel, q) => {
      const count = layerCount(q), hidden = j < 0 || !count || j >= sourceCount(q);
      const row = hidden || boxes[q] ? null : panel.querySelectorAll('.hw-r')[count - 1 - k];
      if (row) outlined.push(row.cells[j + 1]);
      if (!boxes[q]) return;
      const frame = mark(boxes[q], columnOf(q, j) / columnCount(q), (count - 1 - k) / count,
        1 / columnCount(q), 1 / count);
      frame.hidden = hidden;
      if (q === n) frame.style.outlineWidth = '2px';
    });
    outlined.forEach((element) => {
      element.hwStyle = element.getAttribute('style') || '';
      style(element, (element.hwStyle && element.hwStyle + ';') + 'outline:1px solid');
    });
  }
  panels.forEach((panel, n) => {
    const count = layerCount(n), image = panel.querySelector('img.hw-j');
    const hide = () => show({n, j: -1, k: -1});
    const point = (j, k, element) => {
      if (!(j >= 0 && j < sourceCount(n) && k >= 0 && k < count)) return hide();
      show({n, j, k});
      element.title = sentence.textContent;
    };
    // A finger never leaves: it taps beside the panel's cells.
    panel.onclick = (event) => { if (!event.target.closest('.hw-r,.hw-w')) hide(); };
    panel.onmouseleave = hide;
    if (image && count) {
      image.parentElement.onmousemove = (event) => {
        const [x, row] = inside(event, image, columnCount(n), count), m = data.promptTokens;
        const line = lineOf(n);
        point(x < m ? x : x < m + line ? -1 : x - line, count - 1 - row, image);
      };
    }
    [...panel.querySelectorAll('.hw-r')].forEach((row, i) => {
      row.onmousemove = (event) => {
        const cell = event.target.closest('td');
        if (cell) point(cell.cellIndex - 1, count - 1 - i, cell);
      };
    });
  });

  // go goes to a place, or to the nearest one there is.
  function go(n, j, k) {
    n = clamp(n, panels.length);
    if (!layerCount(n)) return;
    show({n, j: clamp(j, sourceCount(n)), k: clamp(k, layerCount(n))}, names[n]);
    panels[n].scrollIntoView({block: 'nearest'});
  }
  text.onclick = (event) => {
    const j = tokens.indexOf(event.target.closest('.hw-t > *'));
    if (j >= 0) go(place.n, j, place.k < 0 ? layerCount(place.n) - 1 : place.k);
  };
  const label = 'tokens: left and right choose a token, up and down a layer, ' +
    'with Shift left and right a panel';
  listen(text, label, (event) => {
    const ahead = event.shiftKey ? [1, 0, 0] : [0, text.dir === 'rtl' ? -1 : 1, 0];
    const move = {
      ArrowLeft: ahead.map((x) => -x), ArrowRight: ahead, ArrowUp: [0, 0, 1],
      ArrowDown: [0, 0, -1],
    }[event.key];
    if (event.key === 'Escape') return () => show({n: place.n, j: -1, k: -1});
    return move && (() => {
      if (place.j < 0) go(place.n, 0, layerCount(place.n) - 1);
      else go(place.n + move[0], place.j + move[1], place.k + move[2]);
    });
  });
  text.style.cursor = 'pointer';
  recolor(root, data.palette || 0, paletteOf(data, choice));
}

begin('.hw-layers[data-hw]', start);
