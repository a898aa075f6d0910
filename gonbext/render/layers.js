// Adds touch to panels of layers that are complete without it: pointing at a place, or going there
// with the keys, shows its layer, its token and its number, and marks the same place in the other
// panels. All text comes from the elements of the picture and is set as text, never as markup. The
// attribute data-hw has numbers only; layersData in layers.go says what each of its fields is.
// Nothing is requested.
// common.js stands before it.
function start(root) {
  const d = JSON.parse(root.dataset.hw);
  const text = root.querySelector('.hw-t'), tokens = [...text.querySelectorAll(':scope > span, :scope > u')];
  const s = choices(d.id, root, {});
  const panels = [], names = []; // of each panel, its method and its token
  let method = '';
  root.querySelectorAll('.hw-n, .hw-d').forEach((e) => {
    if (e.className === 'hw-n') method = e.textContent;
    else names[panels.push(e) - 1] = method + ', ' + e.querySelector('b').textContent + ' ← ';
  });
  const layers = (n) => d.p[n] && d.p[n].l ? d.p[n].l.length : 0;
  // sources is how many tokens have a column in panel n: the prompt, then the generated tokens before its own.
  const sources = (n) => d.m + (d.p[n].q || 0);
  // place and width are where token j stands in the image of a panel, and how many places it has.
  const place = (p, j) => j < d.m ? j : j + (p.g || 0), width = (n) => sources(n) + (d.p[n].g || 0);
  const value = (n, k, j) => {
    const p = d.p[n], code = pair(p.w, 2 * (k * sources(n) + j));
    if (!code) return 'no number';
    const x = (code - 2048) / 2047 * p.t;
    if (p.x) return '×' + (2 ** x).toPrecision(3);
    return p.c ? (100 * x).toFixed(1) + ' %' : x.toPrecision(3);
  };
  const say = make('div');
  say.setAttribute('style', 'font-size:12px;min-height:1.5em');
  say.setAttribute('aria-live', 'polite');
  text.after(say);
  const bar = make('div', {className: 'hw-b'});
  bar.append(colorButton(root, d, s, (from, to) => {
    show({n: at.n, j: -1, k: -1});
    recolor(root, from, to);
  }));
  root.querySelectorAll('.hw-b').forEach((e) => e.remove());
  say.after(bar);
  const boxes = panels.map((panel) => panel.querySelector('img.hw-j')).map((image) => image && image.parentElement);
  // at is the place that is shown: a panel, a token and a layer.
  let at = {n: 0, j: -1, k: -1}, outlined = [];
  function tell({n, j, k}) {
    const p = d.p[n];
    return (p.o ? 'up to layer ' : 'layer ') + p.l[k] + ' · ' + quoted(tokens[j].textContent, j, d.m, 'generated') + ' ' + value(n, k, j);
  }
  // show shows a place, or with j = -1 none; by is what to say before it.
  function show(to, by = '') {
    const {n, j, k} = at = to;
    say.textContent = j < 0 ? '' : by + tell(to);
    outlined.forEach((e) => style(e, e.hwStyle));
    outlined = j < 0 ? [] : [tokens[j]];
    panels.forEach((panel, q) => {
      const L = layers(q), none = j < 0 || !L || j >= sources(q);
      const row = none || boxes[q] ? null : panel.querySelectorAll('.hw-r')[L - 1 - k];
      if (row) outlined.push(row.cells[j + 1]);
      if (!boxes[q]) return;
      const e = mark(boxes[q], place(d.p[q], j) / width(q), (L - 1 - k) / L, 1 / width(q), 1 / L);
      e.hidden = none;
      if (q === n) e.style.outlineWidth = '2px';
    });
    outlined.forEach((e) => {
      e.hwStyle = e.getAttribute('style') || '';
      style(e, (e.hwStyle && e.hwStyle + ';') + 'outline:1px solid');
    });
  }
  panels.forEach((panel, n) => {
    const L = layers(n), image = panel.querySelector('img.hw-j');
    const point = (j, k, e) => {
      if (!(j >= 0 && j < sources(n) && k >= 0 && k < L)) return show({n, j: -1, k: -1});
      show({n, j, k});
      e.title = say.textContent;
    };
    // A finger never leaves: it taps beside the panel's cells.
    panel.onclick = (event) => { if (!event.target.closest('.hw-r,.hw-w')) show({n, j: -1, k: -1}); };
    panel.onmouseleave = () => show({n, j: -1, k: -1});
    if (image && L) {
      image.parentElement.onmousemove = (event) => {
        const [x, row] = inside(event, image, width(n), L), line = d.p[n].g || 0;
        point(x < d.m ? x : x < d.m + line ? -1 : x - line, L - 1 - row, image);
      };
    }
    [...panel.querySelectorAll('.hw-r')].forEach((row, i) => {
      row.onmousemove = (event) => {
        const cell = event.target.closest('td');
        if (cell) point(cell.cellIndex - 1, L - 1 - i, cell);
      };
    });
  });

  // go goes to a place, or to the nearest one there is.
  function go(n, j, k) {
    n = clamp(n, panels.length);
    if (!layers(n)) return;
    show({n, j: clamp(j, sources(n)), k: clamp(k, layers(n))}, names[n]);
    panels[n].scrollIntoView({block: 'nearest'});
  }
  text.onclick = (event) => {
    const j = tokens.indexOf(event.target.closest('.hw-t > *'));
    if (j >= 0) go(at.n, j, at.k < 0 ? layers(at.n) - 1 : at.k);
  };
  listen(text, 'tokens: left and right choose a token, up and down a layer, with Shift left and right a panel', (event) => {
    const by = event.shiftKey ? [1, 0, 0] : [0, text.dir === 'rtl' ? -1 : 1, 0];
    const act = {ArrowLeft: by.map((x) => -x), ArrowRight: by, ArrowUp: [0, 0, 1], ArrowDown: [0, 0, -1]}[event.key];
    if (event.key === 'Escape') return () => show({n: at.n, j: -1, k: -1});
    return act && (() => {
      if (at.j < 0) go(at.n, 0, layers(at.n) - 1);
      else go(at.n + act[0], at.j + act[1], at.k + act[2]);
    });
  });
  text.style.cursor = 'pointer';
  recolor(root, d.c || 0, paletteOf(d, s));
}

begin('.hw-layers[data-hw]', start);
