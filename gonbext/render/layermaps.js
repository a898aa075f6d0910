// Adds touch to maps of layers that are complete without it: choosing a layer by its thumbnail, and
// a target. mapsData in layermaps.go has the fields of data. common.js and opened.js stand before
// it.

// numberOf is a value of a map as a reader sees it, and cellText as it stands in a cell.
function numberOf(data, x) {
  if (x !== x) return 'NaN';
  if (data.percent) return (100 * x).toFixed(x >= 0.9995 ? 0 : 1) + ' %';
  return data.lift ? '×' + (2 ** x).toFixed(2) : x.toPrecision(3);
}
function cellText(data, x) {
  if (x !== x) return 'NaN';
  const inUnits = data.percent ? 100 * x : data.lift ? 2 ** x : x / 10 ** (data.power || 0);
  return inUnits.toFixed(data.digits);
}

function start(root, data) {
  const choice = choices(data.id, root, {open: {}});
  let color = colorsOf(paletteOf(data, choice));
  const text = root.querySelector('.hw-t'), sentence = root.querySelector('.hw-s');
  const title = root.querySelector('.hw-n');
  const tokens = [...text.querySelectorAll(':scope > span, :scope > u')];
  const rows = [...root.querySelectorAll('.hw-r')], open = root.querySelector('img.hw-j');
  const header = [...root.querySelectorAll('.hw-m .hw-c th')];
  const thumbnails = [...root.querySelectorAll('.hw-g')], sinks = new Set(data.sinks || []);
  const atFirst = [...sentence.childNodes];
  const method = title.textContent.slice(0, title.textContent.lastIndexOf(', ')) + ', ';
  const target = () => within(choice.query, data.tokens, data.query);
  const layer = () =>
    within(data.layers.indexOf(choice.layer), data.layers.length, data.open);
  const layerName = (l) => (data.combined ? 'up to layer ' : 'layer ') + data.layers[l];
  const sourceCount = (i) => data.both ? data.tokens : i + 1;
  const value = (l, i, j) => valueOf(data.rows[l][i], j);
  function paintOf(l, i, j) {
    if (j >= sourceCount(i)) return 0;
    if (sinks.has(j)) return grey;
    const x = value(l, i, j), part = Math.min(Math.abs(x) / data.limit, 1);
    return x !== x ? none : Math.sign(x) * Math.round(levels * part);
  }
  const css = (paint) => paint ? 'background:' + color(paint) : '';
  const name = (j) => quoted(tokens[j].textContent, j, data.promptTokens, 'generated');

  // With choice.fed, the chosen token is shown as a source: the targets that have something from it
  // have colours.
  function drawText(l, i) {
    tokens.forEach((token, j) => {
      const colored = css(choice.fed ? paintOf(l, j, i) : paintOf(l, i, j));
      style(token, j !== i ? colored : (colored && colored + ';') + 'outline:2px solid');
    });
  }
  // predictedAt says which token is predicted at token i, if one is.
  const predictedAt = (i) => data.predicted[i] < 0 ? '' : ', where “' +
    isolate(tokens[data.promptTokens + data.predicted[i]].textContent) + '” is predicted';
  function drawSentence(l, i) {
    sentence.textContent = '';
    if (l === data.open && i === data.query && !choice.fed) {
      sentence.append(...atFirst); // with exact numbers
      return;
    }
    const cellOf = (j) => choice.fed ? [l, j, i] : [l, i, j];
    const size = (j) => Math.abs(value(...cellOf(j)));
    const standsOut = (paint) => paint && paint !== none && (choice.fed || paint < grey);
    const row = [...Array(data.tokens).keys()].filter((j) => standsOut(paintOf(...cellOf(j))));
    row.sort((a, b) => size(b) - size(a));
    const begin = choice.fed ? ' as a source, ' : predictedAt(i) + ' · ';
    const strongest =
      row.slice(0, 5).map((j) => name(j) + ' ' + numberOf(data, value(...cellOf(j))));
    sentence.append(make('b', {textContent: name(i)}), begin + method + layerName(l) + ': ' +
      (strongest.join(', ') || 'nothing stands out'));
  }
  function drawOpen(l) {
    title.textContent = method + layerName(l);
    rows.forEach((row, i) => {
      for (let j = 0; j < data.tokens; j++) {
        const paint = paintOf(l, i, j), cell = row.cells[j + 1];
        style(cell, css(paint));
        cell.textContent = paint && paint !== grey ? cellText(data, value(l, i, j)) : '';
      }
    });
    if (!open) return;
    open.hwDraw = () => drawOpen(l);
    const canvas = canvasFor(open), context = canvas.getContext('2d');
    const width = canvas.width / data.tokens, height = canvas.height / data.tokens;
    for (let i = 0; i < data.tokens; i++) {
      for (let j = 0; j < sourceCount(i); j++) {
        const paint = paintOf(l, i, j);
        if (!paint) continue;
        context.fillStyle = brush(context, paint, color(paint));
        context.fillRect(j * width, i * height, width, height);
      }
    }
  }
  let opened = data.open;
  function draw() {
    const l = layer(), i = target();
    drawText(l, i);
    drawSentence(l, i);
    // At first the static map stays, which has exact numbers.
    if (opened !== l) drawOpen(opened = l);
    rows.forEach((row, k) => row.classList.toggle('hw-x', k === i && !choice.fed));
    header.forEach((cell, k) => cell.classList.toggle('hw-x', k === i && !!choice.fed));
    const size = (j) => j < sourceCount(i) && !sinks.has(j) ? Math.abs(value(l, i, j)) : 0;
    if (open) {
      markLine(open, i, data.tokens, choice.fed);
      const named = (j) => !choice.fed && paintOf(l, i, j) ? size(j) : 0;
      nameColumns(open, data.tokens, named, name);
    } else reveal(rows[i], choice.fed ? i : largest(data.tokens, size));
    thumbnails.forEach((thumbnail, k) => {
      thumbnail.setAttribute('aria-current', k === l);
      mark(thumbnail.querySelector('img').parentElement, 0, 0, 1, 1).hidden = k !== l;
      thumbnail.querySelector('.hw-p').style.outlineWidth = '2px';
    });
  }
  function pick(l, i) {
    if (l >= 0 && l < data.layers.length) choice.layer = data.layers[l];
    if (i >= 0 && i < data.tokens) {
      choice.query = i;
      choice.fed = false;
    }
    draw();
  }

  const bar = make('div', {className: 'hw-b'});
  bar.append(colorButton(data, choice, (from, to) => {
    color = colorsOf(to);
    recolor(root, from, to);
    draw();
  }));
  sentence.before(bar);
  sentence.setAttribute('aria-live', 'polite');
  // feeds shows what has something from token i.
  const feeds = (i) => {
    choice.query = i;
    choice.fed = true;
    draw();
  };
  const goBack = () => {
    choice.layer = undefined;
    choice.fed = false;
    draw();
  };
  text.onclick = (event) => {
    const j = tokens.indexOf(event.target.closest('.hw-t > *'));
    chooseToken(j, event, target(), choice, (i) => pick(-1, i), feeds);
  };
  header.forEach((cell, j) => { cell.onclick = () => feeds(j); });
  const label = 'tokens: left and right choose a target, up and down a layer, ' +
    'Enter shows what the token fed and goes back, Escape goes back to the first layer';
  listen(text, label, ({key}) => {
    const ahead = text.dir === 'rtl' ? -1 : 1, i = target();
    return {
      ArrowLeft: () => pick(-1, i - ahead),
      ArrowRight: () => pick(-1, i + ahead),
      ArrowUp: () => pick(layer() + 1, -1),
      ArrowDown: () => pick(layer() - 1, -1),
      Home: () => pick(-1, 0),
      End: () => pick(-1, data.tokens - 1),
      Escape: goBack,
      Enter: () => { if (choice.fed) pick(-1, i); else feeds(i); },
    }[key];
  });
  thumbnails.forEach((thumbnail, l) => {
    thumbnail.style.cursor = 'pointer';
    thumbnail.querySelectorAll('b').forEach(unmark);
    thumbnail.onclick = () => pick(l, -1);
  });
  // describe says what target i has from token j.
  function describe(i, j) {
    if (!tokens[i] || !tokens[j]) return '';
    const number = j < sourceCount(i) ? numberOf(data, value(layer(), i, j)) :
      'nothing, it comes later';
    return layerName(layer()) + ', ' + name(i) + ' ← ' + name(j) + ': ' + number;
  }
  const choose = (i, j) => {
    staying(rows[0], () => pick(-1, i));
    addTo(sentence, describe(i, j));
  };
  rows.forEach((row, i) => {
    row.onclick = (event) => choose(i, event.target.cellIndex - 1);
    row.onmousemove = (event) => {
      event.target.title = describe(i, event.target.cellIndex - 1);
    };
  });
  if (open) {
    const place = (event) => inside(event, event.target, data.tokens, data.tokens).reverse();
    open.parentElement.onclick = (event) => choose(...place(event));
    open.parentElement.onmousemove = (event) => {
      event.target.title = describe(...place(event));
    };
  }
  finish(root, data, choice, () => {
    steady(rows);
    draw();
  });
}

begin('.hw-maps[data-hw]', start);
