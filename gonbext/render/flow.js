// Adds touch to a graph of flow that is complete without it: choosing a node shows what the token
// has there from which tokens, and what has something from it. All text comes from the elements of
// the picture and is set as text, never as markup. The attribute data-hw has numbers only; flowData
// in flowimage.go says what each of its fields is. Nothing is requested.
(() => {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const svg = 'http://www.w3.org/2000/svg';

  // isolate keeps a name that is written from right to left from changing the direction of what follows.
  const isolate = (x) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(x) ? '\u2068' + x + '\u2069' : x;

  function start(root) {
    const d = JSON.parse(root.dataset.hw), R = d.r.length, L = d.l.length;
    const tokens = [...root.querySelectorAll('.hw-t > span, .hw-t > u')];
    const box = root.querySelector('.hw-f'), image = box.querySelector('img');
    const say = root.querySelector('.hw-s'), said = [...say.childNodes];
    const width = (k, i, j) => {
      const at = 2 * (i * R + j);
      return (64 * digits.indexOf(d.w[k][at]) + digits.indexOf(d.w[k][at + 1])) / 4095;
    };
    const name = (i) => '“' + isolate(tokens[d.r[i]].textContent) + '” (' + (d.r[i] < d.m ? d.r[i] : 'generated ' + (d.r[i] - d.m + 1)) + ')';
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
      say.append(Object.assign(document.createElement('div'), {textContent: text}));
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
      const where = k === 0 ? ' before layer ' + d.l[0] : ' after layer ' + d.l[k - 1];
      say.append(Object.assign(document.createElement('b'), {textContent: name(i) + where}));
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
      const same = chosen && chosen[0] === k && chosen[1] === i;
      chosen = same ? null : [Math.min(Math.max(k, 0), L), Math.min(Math.max(i, 0), R - 1)];
      draw();
    }
    const at = (event) => {
      const r = image.getBoundingClientRect();
      return [Math.round((event.clientX - r.left - d.x) / d.s), Math.floor((event.clientY - r.top) / d.h)];
    };
    box.onclick = (event) => pick(...at(event));
    tokens.forEach((e, j) => {
      const i = d.r.indexOf(j);
      e.style.cursor = i < 0 ? 'default' : 'pointer';
      if (i >= 0) e.onclick = () => pick(chosen ? chosen[0] : 0, i);
    });
    box.onmousemove = (event) => {
      const [k, i] = at(event);
      image.title = i >= 0 && i < R && k >= 0 && k <= L ? name(i) + (k === 0 ? ' before layer ' + d.l[0] : ' after layer ' + d.l[k - 1]) : '';
    };
    box.tabIndex = 0;
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', 'graph: left and right choose a layer, up and down a token, Escape the whole flow');
    box.setAttribute('data-lm-suppress-shortcuts', 'true');
    say.setAttribute('aria-live', 'polite');
    box.onkeydown = (event) => {
      const by = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
      if (!by && event.key !== 'Escape' || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      if (!by) {
        chosen = null;
        draw();
        return;
      }
      const [k, i] = chosen || [L, R - 1], next = [Math.min(Math.max(k + by[0], 0), L), Math.min(Math.max(i + by[1], 0), R - 1)];
      if (!chosen || next[0] !== k || next[1] !== i) pick(...next);
    };
    root.classList.add('hw-on');
  }

  const script = document.currentScript, own = script && script.closest('.hw');
  for (const root of own ? [own] : document.querySelectorAll('.hw-flow[data-hw]')) {
    if (root.hwStarted) continue;
    root.hwStarted = true;
    start(root);
  }
})();
