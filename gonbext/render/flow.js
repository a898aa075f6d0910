// Adds touch to a graph of flow that is complete without it: choosing a node shows what the token
// has there from which tokens, and what has something from it. flowData in flowimage.go has the
// fields of data. common.js stands before it.
const svg = 'http://www.w3.org/2000/svg';

function start(root, data) {
  const choice = choices(data.id, root, {open: {}});
  const rowCount = data.tokens.length, layerCount = data.layers.length;
  const tokens = [...root.querySelectorAll('.hw-t > span, .hw-t > u')];
  const box = root.querySelector('.hw-f'), image = box.querySelector('img');
  const sentence = root.querySelector('.hw-s'), atFirst = [...sentence.childNodes];
  // A node is a level k, of which 0 is before the first layer shown, and a row i.
  const widthOf = (k, i, j) => valueOf(data.widths[k][i], j);
  const name = (i) =>
    quoted(tokens[data.tokens[i]].textContent, data.tokens[i], data.promptTokens, 'generated');
  const where = (k) =>
    k === 0 ? ' before layer ' + data.layers[0] : ' after layer ' + data.layers[k - 1];
  const x = (k) => data.left + k * data.step, y = (i) => (i + 0.5) * data.high;

  box.className = 'hw-f hw-w';
  const overlay = document.createElementNS(svg, 'svg');
  overlay.setAttribute('width', image.width);
  overlay.setAttribute('height', image.height);
  overlay.setAttribute('style', 'position:absolute;left:0;top:0;pointer-events:none');
  box.append(overlay);
  let chosen = null;

  function drawEdge(k, i, j, width) {
    const path = document.createElementNS(svg, 'path'), middle = (x(k) + x(k + 1)) / 2;
    path.setAttribute('d', 'M' + x(k) + ' ' + y(j) + 'C' + middle + ' ' + y(j) + ' ' + middle +
      ' ' + y(i) + ' ' + x(k + 1) + ' ' + y(i));
    path.setAttribute('style', 'fill:none;stroke:currentColor;stroke-opacity:.85;stroke-width:' +
      Math.max(0.8, 0.32 * data.high * width));
    overlay.append(path);
  }
  // edgesOf returns the largest edges on one side of a node: those that it has something from, or
  // those that lead on from it.
  function edgesOf(k, i, below) {
    const edges = [];
    for (let j = 0; j < rowCount; j++) {
      const width = below ? widthOf(k - 1, i, j) : widthOf(k, j, i);
      if (width >= 0.005) edges.push([j, width]);
    }
    return edges.sort((a, b) => b[1] - a[1]);
  }
  const list = (edges) =>
    edges.slice(0, 6).map(([j, width]) => name(j) + ' ' + width.toFixed(3)).join(', ') ||
    'no token shown here';
  function drawRing(k, i) {
    const ring = document.createElementNS(svg, 'circle');
    ring.setAttribute('cx', x(k));
    ring.setAttribute('cy', y(i));
    ring.setAttribute('r', 7);
    ring.setAttribute('style', 'fill:none;stroke:currentColor;stroke-width:2');
    overlay.append(ring);
  }
  function draw() {
    overlay.textContent = '';
    sentence.textContent = '';
    if (!chosen) {
      sentence.append(...atFirst);
      return;
    }
    const [k, i] = chosen;
    drawRing(k, i);
    sentence.append(make('b', {textContent: name(i) + where(k)}));
    if (k > 0) {
      const sources = edgesOf(k, i, true);
      sources.forEach(([j, width]) => drawEdge(k - 1, i, j, width));
      addTo(sentence, 'has from: ' + list(sources));
    }
    if (k < layerCount) {
      const targets = edgesOf(k, i, false);
      targets.forEach(([j, width]) => drawEdge(k, j, i, width));
      addTo(sentence, 'feeds in layer ' + data.layers[k] + ': ' + list(targets));
    }
    addTo(sentence, 'Click it again or press Esc for the whole flow.');
  }
  function pick(k, i) {
    [k, i] = [clamp(k, layerCount + 1), clamp(i, rowCount)];
    chosen = chosen && chosen[0] === k && chosen[1] === i ? null : [k, i];
    draw();
  }
  const nodeAt = (event) => {
    const edge = image.getBoundingClientRect();
    return [
      Math.round((event.clientX - edge.left - data.left) / data.step),
      Math.floor((event.clientY - edge.top) / data.high),
    ];
  };
  box.onclick = (event) => pick(...nodeAt(event));
  tokens.forEach((token, j) => {
    // The token explained is predicted where the graph ends; those after it are not in the graph.
    const i = data.tokens.indexOf(j), ends = i < 0 && j === data.promptTokens + data.target;
    token.style.cursor = i < 0 && !ends ? 'default' : 'pointer';
    if (i >= 0) token.onclick = () => pick(chosen ? chosen[0] : 0, i);
    else if (ends) token.onclick = () => pick(layerCount, rowCount - 1);
    else if (j >= data.promptTokens) token.title = 'not in this graph';
  });
  box.onmousemove = (event) => {
    const [k, i] = nodeAt(event), isNode = i >= 0 && i < rowCount && k >= 0 && k <= layerCount;
    image.title = isNode ? name(i) + where(k) : '';
  };
  const bar = make('div', {className: 'hw-b'});
  bar.append(colorButton(data, choice, (from, to) => recolor(root, from, to)));
  sentence.before(bar);
  sentence.setAttribute('aria-live', 'polite');
  const label = 'graph: left and right choose a layer, up and down a token, Escape the whole flow';
  listen(box, label, ({key}) => {
    if (key === 'Escape') {
      return () => {
        chosen = null;
        draw();
      };
    }
    const move =
      {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[key];
    return move && (() => {
      const [k, i] = chosen || [layerCount, rowCount - 1];
      const next = [clamp(k + move[0], layerCount + 1), clamp(i + move[1], rowCount)];
      if (!chosen || next[0] !== k || next[1] !== i) pick(...next);
    });
  });
  keepOpen(root, choice.open);
  recolor(root, data.palette || 0, paletteOf(data, choice));
  root.classList.add('hw-on');
}

begin('.hw-flow[data-hw]', start);
