// Adds touch to a graph of flow that is complete without it: choosing a node shows what the token
// has there from which tokens, and what has something from it. All text comes from the elements of
// the picture and is set as text, never as markup. The attribute data-hw has numbers only; flowData
// in flowimage.go says what each of its fields is. Nothing is requested.
// common.js stands before it.
const svg = 'http://www.w3.org/2000/svg';

function start(root) {
  const d = JSON.parse(root.dataset.hw), s = choices(d.id, root, {open: {}}), R = d.r.length, L = d.l.length;
  const tokens = [...root.querySelectorAll('.hw-t > span, .hw-t > u')];
  const box = root.querySelector('.hw-f'), image = box.querySelector('img');
  const say = root.querySelector('.hw-s'), said = [...say.childNodes];
  const width = (k, i, j) => pair(d.w[k], 2 * (i * R + j)) / 4095;
  const name = (i) => quoted(tokens[d.r[i]].textContent, d.r[i], d.m, 'generated');
  const where = (k) => k === 0 ? ' before layer ' + d.l[0] : ' after layer ' + d.l[k - 1];
  const x = (k) => d.x + k * d.s, y = (i) => (i + 0.5) * d.h;

  box.className = 'hw-f hw-w';
  const over = document.createElementNS(svg, 'svg');
  over.setAttribute('width', image.width);
  over.setAttribute('height', image.height);
  over.setAttribute('style', 'position:absolute;left:0;top:0;pointer-events:none');
  box.append(over);
  let chosen = null;

  function edge(k, i, j, w) {
    const e = document.createElementNS(svg, 'path'), m = (x(k) + x(k + 1)) / 2;
    e.setAttribute('d', 'M' + x(k) + ' ' + y(j) + 'C' + m + ' ' + y(j) + ' ' + m + ' ' + y(i) + ' ' + x(k + 1) + ' ' + y(i));
    e.setAttribute('style', 'fill:none;stroke:currentColor;stroke-opacity:.85;stroke-width:' + Math.max(0.8, 0.32 * d.h * w));
    over.append(e);
  }
  // sides returns the largest edges on one side of a node: those that it has something from, or
  // those that lead on from it.
  function sides(k, i, below) {
    const all = [];
    for (let j = 0; j < R; j++) {
      const w = below ? width(k - 1, i, j) : width(k, j, i);
      if (w >= 0.005) all.push([j, w]);
    }
    return all.sort((a, b) => b[1] - a[1]);
  }
  const list = (all) => all.slice(0, 6).map(([j, w]) => name(j) + ' ' + w.toFixed(3)).join(', ') || 'no token shown here';
  function line(text) {
    say.append(make('div', {textContent: text}));
  }
  function draw() {
    over.textContent = '';
    say.textContent = '';
    if (!chosen) {
      say.append(...said);
      return;
    }
    const [k, i] = chosen, ring = document.createElementNS(svg, 'circle');
    ring.setAttribute('cx', x(k));
    ring.setAttribute('cy', y(i));
    ring.setAttribute('r', 7);
    ring.setAttribute('style', 'fill:none;stroke:currentColor;stroke-width:2');
    over.append(ring);
    say.append(make('b', {textContent: name(i) + where(k)}));
    if (k > 0) {
      const from = sides(k, i, true);
      from.forEach(([j, w]) => edge(k - 1, i, j, w));
      line('has from: ' + list(from));
    }
    if (k < L) {
      const on = sides(k, i, false);
      on.forEach(([j, w]) => edge(k, j, i, w));
      line('feeds in layer ' + d.l[k] + ': ' + list(on));
    }
    line('Click it again or press Esc for the whole flow.');
  }
  function pick(k, i) {
    [k, i] = [clamp(k, L + 1), clamp(i, R)];
    chosen = chosen && chosen[0] === k && chosen[1] === i ? null : [k, i];
    draw();
  }
  const at = (event) => {
    const r = image.getBoundingClientRect();
    return [Math.round((event.clientX - r.left - d.x) / d.s), Math.floor((event.clientY - r.top) / d.h)];
  };
  box.onclick = (event) => pick(...at(event));
  tokens.forEach((e, j) => {
    // The token explained is predicted where the graph ends; those after it are not in the graph.
    const i = d.r.indexOf(j), ends = i < 0 && j === d.m + d.t;
    e.style.cursor = i < 0 && !ends ? 'default' : 'pointer';
    if (i >= 0) e.onclick = () => pick(chosen ? chosen[0] : 0, i);
    else if (ends) e.onclick = () => pick(L, R - 1);
    else if (j >= d.m) e.title = 'not in this graph';
  });
  box.onmousemove = (event) => {
    const [k, i] = at(event);
    image.title = i >= 0 && i < R && k >= 0 && k <= L ? name(i) + where(k) : '';
  };
  const bar = make('div', {className: 'hw-b'});
  bar.append(colorButton(root, d, s, (from, to) => recolor(root, from, to)));
  say.before(bar);
  say.setAttribute('aria-live', 'polite');
  listen(box, 'graph: left and right choose a layer, up and down a token, Escape the whole flow', (event) => {
    const by = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (event.key === 'Escape') {
      return () => {
        chosen = null;
        draw();
      };
    }
    return by && (() => {
      const [k, i] = chosen || [L, R - 1], next = [clamp(k + by[0], L + 1), clamp(i + by[1], R)];
      if (!chosen || next[0] !== k || next[1] !== i) pick(...next);
    });
  });
  keepOpen(root, s.open);
  recolor(root, d.c || 0, paletteOf(d, s));
  root.classList.add('hw-on');
}

begin('.hw-flow[data-hw]', start);
