// Adds touch to maps of layers that are complete without it: choosing a layer by its thumbnail, and a
// target. All text comes from the elements of the picture and is set as text, never as markup. The
// attribute data-hw has numbers only; mapsData in layermaps.go says what each of its fields is.
// Nothing is requested.
// common.js stands before it.
function start(root) {
  const d = JSON.parse(root.dataset.hw), s = choices(d.id, root, {open: {}});
  let color = colorsOf(paletteOf(d, s));
  const text = root.querySelector('.hw-t'), say = root.querySelector('.hw-s'), title = root.querySelector('.hw-n');
  const tokens = [...text.querySelectorAll(':scope > span, :scope > u')];
  const rows = [...root.querySelectorAll('.hw-r')], open = root.querySelector('img.hw-j');
  const header = [...root.querySelectorAll('.hw-m .hw-c th')];
  const thumbnails = [...root.querySelectorAll('.hw-g')], sinks = new Set(d.s || []), said = [...say.childNodes];
  const method = title.textContent.slice(0, title.textContent.lastIndexOf(', ')) + ', ';
  const within = (x, size, otherwise) => x >= 0 && x < size ? x : otherwise;
  const target = () => within(s.query, d.T, d.q), layer = () => within(d.L.indexOf(s.layer), d.L.length, d.l);
  const layerName = (l) => (d.o ? 'up to layer ' : 'layer ') + d.L[l];
  const seen = (i) => d.b ? d.T : i + 1, before = (i) => d.b ? i * d.T : i * (i + 1) / 2;
  function value(l, i, j) {
    const code = pair(d.w, 2 * (l * before(d.T) + before(i) + j));
    return code ? (code - 2048) / 2047 * d.t : NaN;
  }
  function paint(l, i, j) {
    if (j >= seen(i)) return 0;
    if (sinks.has(j)) return grey;
    const x = value(l, i, j), n = Math.round(levels * Math.min(Math.abs(x) / d.lim, 1));
    return x !== x ? none : Math.sign(x) * n;
  }
  const format = (x) => x !== x ? 'NaN' : d.u === 0 ? (100 * x).toFixed(x >= 0.9995 ? 0 : 1) + ' %' : d.u === 1 ? '×' + (2 ** x).toFixed(2) : x.toPrecision(3);
  const cell = (x) => x !== x ? 'NaN' : (d.u === 0 ? 100 * x : d.u === 1 ? 2 ** x : x / 10 ** (d.pw || 0)).toFixed(d.f);
  const css = (n) => n ? 'background:' + color(n) : '';
  const name = (j) => quoted(tokens[j].textContent, j, d.m, 'generated');

  // With s.fed, the chosen token is shown as a source: the targets that have something from it have colours.
  function drawText(l, i) {
    tokens.forEach((e, j) => {
      const c = css(s.fed ? paint(l, j, i) : paint(l, i, j));
      style(e, j !== i ? c : (c && c + ';') + 'outline:2px solid');
    });
  }
  function drawSentence(l, i) {
    say.textContent = '';
    if (l === d.l && i === d.q && !s.fed) return say.append(...said); // with exact numbers
    const at = (j) => s.fed ? [l, j, i] : [l, i, j], size = (j) => Math.abs(value(...at(j)));
    const row = [...Array(d.T).keys()].filter((j) => paint(...at(j)) && paint(...at(j)) !== none && (s.fed || paint(...at(j)) < grey));
    row.sort((a, b) => size(b) - size(a));
    const what = s.fed ? ' as a source, ' : (d.p[i] < 0 ? '' : ', where “' + isolate(tokens[d.m + d.p[i]].textContent) + '” is predicted') + ' · ';
    say.append(make('b', {textContent: name(i)}), what + method + layerName(l) + ': ' +
      (row.slice(0, 5).map((j) => name(j) + ' ' + format(value(...at(j)))).join(', ') || 'nothing stands out'));
  }
  function drawOpen(l) {
    title.textContent = method + layerName(l);
    rows.forEach((r, i) => {
      for (let j = 0; j < d.T; j++) {
        const n = paint(l, i, j), e = r.cells[j + 1];
        style(e, css(n));
        e.textContent = n && n !== grey ? cell(value(l, i, j)) : '';
      }
    });
    if (!open) return;
    open.hwDraw = () => drawOpen(l);
    const c = canvasFor(open), g = c.getContext('2d'), w = c.width / d.T, h = c.height / d.T;
    for (let i = 0; i < d.T; i++) for (let j = 0; j < seen(i); j++) {
      const n = paint(l, i, j);
      if (!n) continue;
      g.fillStyle = brush(g, n, color(n));
      g.fillRect(j * w, i * h, w, h);
    }
  }
  let opened = d.l;
  function draw() {
    const l = layer(), i = target();
    drawText(l, i);
    drawSentence(l, i);
    if (opened !== l) drawOpen(opened = l); // at first the static map stays, which has exact numbers
    rows.forEach((r, k) => r.classList.toggle('hw-x', k === i && !s.fed));
    header.forEach((e, k) => e.classList.toggle('hw-x', k === i && !!s.fed));
    const size = (j) => j < seen(i) && !sinks.has(j) ? Math.abs(value(l, i, j)) : 0;
    if (open) {
      markLine(open, i, d.T, s.fed);
      nameColumns(open, d.T, (j) => !s.fed && paint(l, i, j) ? size(j) : 0, name);
    } else reveal(rows[i], s.fed ? i : largest(d.T, size));
    thumbnails.forEach((e, k) => {
      e.setAttribute('aria-current', k === l);
      mark(e.querySelector('img').parentElement, 0, 0, 1, 1).hidden = k !== l;
      e.querySelector('.hw-p').style.outlineWidth = '2px';
    });
  }
  function pick(l, i) {
    if (l >= 0 && l < d.L.length) s.layer = d.L[l];
    if (i >= 0 && i < d.T) {
      s.query = i;
      s.fed = false;
    }
    draw();
  }

  const bar = make('div', {className: 'hw-b'});
  bar.append(colorButton(root, d, s, (from, to) => {
    color = colorsOf(to);
    recolor(root, from, to);
    draw();
  }));
  say.before(bar);
  say.setAttribute('aria-live', 'polite');
  // feeds shows what has something from token i.
  const feeds = (i) => {
    s.query = i;
    s.fed = true;
    draw();
  };
  const goBack = () => {
    s.layer = undefined;
    s.fed = false;
    draw();
  };
  text.onclick = (event) => chooseToken(tokens.indexOf(event.target.closest('.hw-t > *')), event, target(), s, (i) => pick(-1, i), feeds);
  header.forEach((e, j) => { e.onclick = () => feeds(j); });
  listen(text, 'tokens: left and right choose a target, up and down a layer, Enter shows what the token fed and goes back, ' +
    'Escape goes back to the first layer', ({key}) => {
    const ahead = text.dir === 'rtl' ? -1 : 1, i = target();
    return {
      ArrowLeft: () => pick(-1, i - ahead), ArrowRight: () => pick(-1, i + ahead), ArrowUp: () => pick(layer() + 1, -1), ArrowDown: () => pick(layer() - 1, -1),
      Home: () => pick(-1, 0), End: () => pick(-1, d.T - 1), Escape: goBack,
      Enter: () => { if (s.fed) pick(-1, i); else feeds(i); },
    }[key];
  });
  thumbnails.forEach((e, l) => {
    e.style.cursor = 'pointer';
    e.querySelectorAll('b').forEach((b) => { b.replaceWith(b.textContent.replace(/^▸\s/, '')); });
    e.onclick = () => pick(l, -1);
  });
  // at says what target i has from token j.
  const at = (i, j) => !tokens[i] || !tokens[j] ? '' : layerName(layer()) + ', ' + name(i) + ' ← ' + name(j) + ': ' +
    (j < seen(i) ? format(value(layer(), i, j)) : 'nothing, it comes later');
  const choose = (i, j) => {
    staying(rows[0], () => pick(-1, i));
    addTo(say, at(i, j));
  };
  rows.forEach((r, i) => {
    r.onclick = (event) => choose(i, event.target.cellIndex - 1);
    r.onmousemove = (event) => { event.target.title = at(i, event.target.cellIndex - 1); };
  });
  if (open) {
    const place = (event) => inside(event, event.target, d.T, d.T).reverse();
    open.parentElement.onclick = (event) => choose(...place(event));
    open.parentElement.onmousemove = (event) => { event.target.title = at(...place(event)); };
  }
  finish(root, d, s, () => {
    steady(rows);
    draw();
  });
}

begin('.hw-maps[data-hw]', start);
