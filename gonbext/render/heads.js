// Adds touch to a picture of heads that is complete without it: choosing tokens, layers and heads.
// All text comes from the elements of the picture and is set as text, never as markup. The attribute
// data-hw has numbers only; headsData in heads.go says what each of its fields is. Nothing is
// requested.
// common.js stands before it.
const steps = 40, full = 0.6;

function start(root) {
  const d = JSON.parse(root.dataset.hw);
  const paintStyle = (n) => n ? 'background:' + color(n) : '';
  const text = root.querySelector('.hw-t'), say = root.querySelector('.hw-s');
  const tokens = [...text.querySelectorAll(':scope > span, :scope > u')];
  const lines = [...root.querySelectorAll('.hw-g')].reverse(), header = [...root.querySelectorAll('.hw-m .hw-c th')];
  const rows = [...root.querySelectorAll('.hw-r')], open = root.querySelector('img.hw-j');
  const title = root.querySelector('.hw-n'), sinks = new Set(d.s || []);
  const s = choices(d.id, root, {open: {}});
  let color = colorsOf(paletteOf(d, s));
  const within = (x, size, otherwise) => x >= 0 && x < size ? x : otherwise;
  const query = () => within(s.query, d.T, d.q);
  // first is the layer and the head that a token opens: of the layer that wrote what is predicted there.
  const first = (i) => d.W && d.O[d.p[i]] >= 0 ? [d.W[d.p[i]], d.O[d.p[i]]] : [d.l, d.h];
  const layer = () => within(s.layer, d.L, first(query())[0]), head = () => within(s.head, d.H, first(query())[1]);
  // The static sentence has exact numbers. The list of heads leaves it: its buttons are not announced
  // with each change, and the one in focus keeps it.
  const said = [...say.childNodes].slice(0, -1), list = make('div', {className: 'hw-b'}), below = make('div');
  list.setAttribute('style', 'font-size:12px;margin-top:4px');
  below.append(list);
  say.after(below);
  const seen = (i) => d.b ? d.T : i + 1;
  const known = (i) => i >= d.f && i <= d.e;

  const decoded = {};
  // values returns the rows known of a head, one after another.
  function values(l, h) {
    const at = l * d.H + h;
    if (decoded[at]) return decoded[at];
    const out = [], code = d.w[at];
    for (let i = 0; i < code.length; i++) {
      let n = digit[code.charCodeAt(i)], run = n - steps;
      if (n === 63) run = 23 + digit[code.charCodeAt(++i)];
      if (n <= steps) out.push(n / steps);
      else for (; run > 0; run--) out.push(0);
    }
    return decoded[at] = out;
  }
  // exact is the attention that the list names, 0 if it does not; the rows are rounded.
  function exact(l, h, i, j) {
    const best = known(i) ? d.B[i - d.f] : [];
    for (let k = 0; k < best.length; k += 4) if (best[k] === l && best[k + 1] === h && best[k + 2] === j) return best[k + 3] / 1e5;
    return 0;
  }
  // attention from token i to token j.
  function attention(l, h, i, j) {
    const before = d.b ? (i - d.f) * d.T : (i * (i + 1) - d.f * (d.f + 1)) / 2;
    return known(i) && j < seen(i) ? exact(l, h, i, j) || values(l, h)[before + j] : 0;
  }
  function paint(l, h, i, j) {
    if (!known(i) || j >= seen(i)) return 0;
    return sinks.has(j) ? grey : Math.min(Math.round(attention(l, h, i, j) / full * levels), levels);
  }
  const share = (x) => (100 * x).toFixed(x < 0.9995 ? 1 : 0) + ' %';
  const percent = (...at) => exact(...at) ? share(exact(...at)) : '≈ ' + (100 * attention(...at)).toFixed(0) + ' %';
  const name = (j) => quoted(tokens[j].textContent, j, d.m, 'generated');

  // With s.fed, the chosen token is shown as a source: those that look at it have colours.
  function drawText(l, h, i) {
    tokens.forEach((e, j) => {
      const css = paintStyle(s.fed ? paint(l, h, j, i) : paint(l, h, i, j));
      style(e, j !== i ? css : (css && css + ';') + 'outline:2px solid');
    });
  }
  const strongest = (list, at) => list.sort((a, b) => attention(...at(b)) - attention(...at(a))).slice(0, 5).map((j) =>
    (sinks.has(j) && !s.fed ? 'the sink ' : '') + name(j) + ' ' + percent(...at(j))).join(', ');
  const stands = (x) => x >= full / 2 / levels;
  function drawSentence(l, h, i) {
    say.textContent = '';
    const bold = make('b', {textContent: name(i)}), row = [], head = 'layer ' + l + ', head ' + h;
    if (s.fed) {
      const from = d.f > 0 ? ' of the tokens from ' + name(d.f) + ' on' : '';
      say.append(bold, ' as a source, ' + head + ': ' +
        (strongest([...tokens.keys()].filter((q) => stands(attention(l, h, q, i))), (q) => [l, h, q, i]) || 'nothing stands out') + from);
      return;
    }
    const t = d.p[i], predicted = t < 0 || d.b ? '' : ', where “' + isolate(tokens[d.m + t].textContent) + '” is predicted';
    if (!known(i)) {
      say.append(bold, ': there was no room for what the heads look at from here');
      return;
    }
    if (l === d.l && h === d.h && i === d.q) say.append(...said);
    else {
      for (let j = 0; j < seen(i); j++) if (stands(attention(l, h, i, j))) row.push(j);
      say.append(bold, predicted + ' · ' + head + ' looks at ' +
        (strongest(row, (j) => [l, h, i, j]) || 'many tokens, none of which has 5 % of its attention'));
    }
  }
  function drawList(i) {
    const buttons = () => [...list.querySelectorAll('button')], focused = buttons().indexOf(document.activeElement);
    list.textContent = '';
    if (!known(i)) return;
    const best = d.B[i - d.f], wrote = d.W ? d.W[d.p[i]] : -1, all = ' that look at one token more from here than from other tokens';
    const part = (what) => list.appendChild(make('div', {textContent: what + ': '}));
    let own, others;
    if (!best.length) part('heads' + all).append('none');
    for (let k = 0; k < best.length; k += 4) {
      const [l, h, j, p] = best.slice(k, k + 4);
      const e = make('button', {type: 'button', textContent: l + '.' + h + ' ' + name(j) + ' ' + share(p / 1e5),
        title: 'layer ' + l + ', head ' + h, onclick: () => pick(l, h)});
      e.setAttribute('aria-pressed', l === layer() && h === head());
      if (l === wrote) own = own || part('heads (layer.head) of layer ' + l + ', which wrote “' + isolate(tokens[d.m + d.p[i]].textContent) + '”');
      else others = others || part((own ? 'other heads' : 'heads (layer.head)') + all);
      (l === wrote ? own : others).append(e);
    }
    if (focused >= 0) (buttons()[focused] || text).focus({preventScroll: true});
  }
  function drawOpen(l, h) {
    title.textContent = 'layer ' + l + ', head ' + h;
    rows.forEach((r, q) => {
      for (let j = 0; j < d.T; j++) {
        const n = paint(l, h, q, j), cell = r.cells[j + 1];
        style(cell, paintStyle(n));
        cell.textContent = n && n !== grey ? (100 * attention(l, h, q, j)).toFixed(0) : '';
      }
    });
    if (!open) return;
    open.hwDraw = () => drawOpen(l, h);
    const c = canvasFor(open), g = c.getContext('2d'), w = c.width / d.T;
    for (let q = 0; q < d.T; q++) for (let j = 0; j < seen(q); j++) {
      const n = paint(l, h, q, j);
      if (!n) continue;
      g.fillStyle = color(n);
      g.fillRect(j * w, q * w, w, w);
    }
  }
  // The buttons go from layer to layer and from head to head, as the arrow keys do.
  const bar = make('div', {className: 'hw-b'}), shown = {};
  for (const [what, mark, label, l, h] of [
    ['layer', '▾', 'the layer below', -1, 0], ['layer', '▴', 'the layer above', 1, 0],
    ['head', '◂', 'the head before', 0, -1], ['head', '▸', 'the head after', 0, 1],
  ]) {
    if (!shown[what]) bar.append(shown[what] = make('span'), ' ');
    const e = make('button', {type: 'button', textContent: mark, title: label, onclick: () => pick(layer() + l, head() + h, -1)});
    e.setAttribute('aria-label', label);
    bar.append(e);
  }
  bar.append(colorButton(root, d, s, (from, to) => {
    color = colorsOf(to);
    recolor(root, from, to);
    draw();
  }));
  bar.setAttribute('style', 'font-size:13px');
  say.before(bar);

  // drawThumbnails marks the open head, and the layer that wrote what is predicted at token i.
  function drawThumbnails(l, h, i) {
    const wrote = d.W && !s.fed ? d.W[d.p[i]] : undefined;
    lines.forEach((line, k) => {
      line.cells[0].textContent = (k === wrote ? 'wrote ' : '') + k;
      line.classList.toggle('hw-x', k === l);
      const e = mark(line.querySelector('div'), h / d.H, 0, 1 / d.H, 1);
      e.hidden = k !== l;
      e.style.outlineWidth = '2px';
    });
  }
  let opened = -1;
  function draw() {
    const l = layer(), h = head(), i = query(), size = (j) => sinks.has(j) ? 0 : attention(l, h, i, j);
    shown.layer.textContent = 'layer ' + l;
    shown.head.textContent = 'head ' + h;
    drawText(l, h, i);
    drawSentence(l, h, i);
    drawList(i);
    drawThumbnails(l, h, i);
    // At first the static matrix stays, which has exact numbers.
    if (opened !== l * d.H + h && (opened >= 0 || l !== d.l || h !== d.h)) drawOpen(l, h);
    opened = l * d.H + h;
    rows.forEach((r, q) => r.classList.toggle('hw-x', q === i && !s.fed));
    header.forEach((e, j) => e.classList.toggle('hw-x', j === i && !!s.fed));
    if (open) {
      markLine(open, i, d.T, s.fed);
      nameColumns(open, d.T, (j) => !s.fed && stands(size(j)) ? size(j) : 0, name);
    } else reveal(rows[i], s.fed ? i : largest(d.T, size));
  }
  function pick(l, h, i) {
    if (i >= 0 && i < d.T) {
      s.query = i;
      s.fed = false;
    }
    if (l >= 0 && l < d.L && h >= 0 && h < d.H && d.w[l * d.H]) Object.assign(s, {layer: l, head: h});
    draw();
  }

  say.setAttribute('aria-live', 'polite');
  const goBack = () => {
    s.layer = s.head = undefined;
    s.fed = false;
    draw();
  };
  // feeds shows what looks at token i.
  const feeds = (i) => {
    s.query = i;
    s.fed = true;
    draw();
  };
  text.onclick = (event) => chooseToken(tokens.indexOf(event.target.closest('.hw-t > *')), event, query(), s, (i) => pick(-1, -1, i), feeds);
  header.forEach((e, j) => { e.onclick = () => feeds(j); });
  listen(text, 'tokens: left and right choose a token, up and down a layer, with Shift left and right a head, ' +
    'Enter shows what looks at the token and goes back, Escape goes back to the first head', (event) => {
    const by = event.shiftKey ? [0, 1, 0] : [0, 0, text.dir === 'rtl' ? -1 : 1], i = query();
    const moves = {ArrowLeft: by.map((x) => -x), ArrowRight: by, ArrowUp: [1, 0, 0], ArrowDown: [-1, 0, 0]}[event.key];
    if (moves) return () => moves[2] ? pick(-1, -1, i + moves[2]) : pick(layer() + moves[0], head() + moves[1], -1);
    return {
      Home: () => pick(-1, -1, 0), End: () => pick(-1, -1, d.T - 1), Escape: goBack,
      Enter: () => { if (s.fed) pick(-1, -1, i); else feeds(i); },
    }[event.key];
  });
  text.onpointerover = (event) => {
    const j = tokens.indexOf(event.target);
    if (j >= 0) event.target.title = j < seen(query()) && known(query()) ? percent(layer(), head(), query(), j) : '';
  };
  lines.forEach((line, k) => {
    line.querySelector('td:last-child').setAttribute('style', 'padding:0;line-height:0;cursor:pointer');
    const at = (event) => inside(event, line.querySelector('img'), d.H, 1)[0];
    line.onclick = (event) => pick(k, at(event));
    line.onmousemove = (event) => { line.title = 'layer ' + k + ', head ' + at(event); };
  });
  // at says how much of its attention token i has on token j, nothing if it is not known.
  const at = (i, j) => !tokens[i] || !tokens[j] || !known(i) ? '' : name(i) + ' looks at ' + name(j) + ': ' +
    (j < seen(i) ? percent(layer(), head(), i, j) : '0 %, it comes later');
  const choose = (i, j) => {
    staying(rows[0], () => pick(-1, -1, i));
    addTo(say, at(i, j));
  };
  rows.forEach((r, i) => {
    r.onclick = (event) => choose(i, event.target.cellIndex - 1);
    r.onmousemove = (event) => { event.target.title = at(i, event.target.cellIndex - 1); };
  });
  const box = open && open.parentElement;
  if (box) {
    const place = (event) => inside(event, event.target, d.T, d.T).reverse();
    box.onclick = (event) => choose(...place(event));
    box.onmousemove = (event) => { event.target.title = at(...place(event)); };
  }
  finish(root, d, s, () => {
    steady(rows);
    draw();
  });
}

begin('.hw-heads[data-hw]', start);
