// Adds touch to a graph of flow that is complete without it: it draws the graph in the colours of
// the page, with the edges of sinks if a reader wants them, and shows of a chosen node what the
// token has there from which tokens, and what has something from it. flowData in flowimage.go has
// the fields of data. All text is set as text, never as markup. common.js and scale.js stand before
// it.

// curveOf is the path of an edge between two places, which leaves and enters its nodes upright.
function curveOf([x1, y1], [x2, y2]) {
  const middle = (y1 + y2) / 2;
  return 'M' + x1 + ' ' + y1 + 'C' + x1 + ' ' + middle + ' ' + x2 + ' ' + middle + ' ' + x2 + ' ' +
    y2;
}

// quoted names token j of a text whose prompt has promptTokens.
const quoted = (tokens, j, {promptTokens, answer}) => '“' + isolate(tokens[j].textContent) + '” (' +
  (j < promptTokens ? j : (answer || 'generated') + ' ' + (j - promptTokens + 1)) + ')';

function start(root, data) {
  const choice = choices(data.id, root, {open: {}, sinks: data.sinkEdges});
  const rowCount = data.tokens.length, layerCount = data.layers.length;
  const $ = (name) => root.querySelector('.hm-' + name);
  const tokens = [...root.querySelectorAll('.hm-text :is(span,u)')];
  const image = root.querySelector('.hm-graph img'), sinks = new Set(data.sinks);
  // A node is a level k, of which 0 is before the first layer shown, and a row i.
  const widthOf = (k, i, j) => valueOf(data.widths[k][i], j);
  const name = (i) => quoted(tokens, data.tokens[i], data);
  const label = (k) => data.layerNames ? data.layerNames[k] : data.layers[k];
  const layerName = (k) => (data.layerNames ? '' : 'layer ') + label(k);
  const where = (k) => k === 0 ? ' before ' + layerName(0) : ' after ' + layerName(k - 1);
  const at = (k, i) =>
    [data.left + (i + 0.5) * data.wide, data.top + (layerCount - k) * data.high];

  function add(parent, kind, attributes, textContent = '') {
    const element = document.createElementNS('http://www.w3.org/2000/svg', kind);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return parent.appendChild(Object.assign(element, {textContent}));
  }
  const graph = add(make('div', {}), 'svg', {
    'viewBox': '0 0 ' + image.width + ' ' + image.height, 'width': image.width,
    'height': image.height, 'role': 'img', 'aria-label': image.alt, 'tabindex': 0,
  });
  const toggle = switchOf('edges of sinks', () => choice.sinks, () => {
    choice.sinks = !choice.sinks;
    draw();
  });
  const {bar, title, readout} = barOf(...data.sinks.length ? [toggle] : []);
  const box = $('scroll'), {hold, count} = scrolling(
    graph, () => [...graph.querySelectorAll('.hm-name')]);
  image.parentElement.remove();
  hold.classList.add('hm-graph');
  box.replaceWith(hold);
  readout.setAttribute('aria-live', 'polite');
  title.textContent = 'Layer by layer, ' + layerName(0) + ' at the bottom';
  $('after').append(bar);
  let chosen = null;

  const drawEdge = ([k, i, j], stroke, least = 0.3, dashes = '') => add(graph, 'path', {
    'd': curveOf(at(k, j), at(k + 1, i)), 'fill': 'none', stroke,
    'stroke-width': dashes ? least : Math.max(least, 7 * widthOf(k, i, j)),
    'stroke-dasharray': dashes,
  });
  const colorOf = (edge) => 'var(--p' +
    Math.max(stepsAt.filter((least) => widthOf(...edge) >= least).length, 1) + ')';
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
  // drawGraph draws the whole graph, pale behind the edges of a chosen node.
  function drawGraph() {
    graph.replaceChildren();
    const shown = data.edges.filter(([, , j]) => choice.sinks || !sinks.has(j));
    if (!chosen) {
      for (const edge of shown) drawEdge(edge, sinks.has(edge[2]) ? 'var(--faint)' : colorOf(edge));
      for (const edge of data.path) drawEdge(edge, 'var(--n3)', 1.8);
      for (const edge of data.cut) drawEdge(edge, 'var(--ink)', 1.6, '4 3');
    } else {
      const [k, i] = chosen;
      if (k > 0) edgesOf(k, i, true).forEach(([j]) => drawEdge([k - 1, i, j], 'var(--ink)'));
      if (k < layerCount) edgesOf(k, i, false).forEach(([j]) => drawEdge([k, j, i], 'var(--ink)'));
    }
    for (const [k, i] of data.nodes) {
      if (sinks.has(i) && !choice.sinks && !chosen) continue;
      const [cx, cy] = at(k, i), ring = chosen && chosen[0] === k && chosen[1] === i;
      add(graph, 'circle', {cx, cy, r: ring ? 6 : 2, fill: ring ? 'var(--n3)' : 'var(--faint)'});
    }
    if (data.path.length) {
      const ends = [at(layerCount, data.path[0][1]), at(0, last(data.path)[2])];
      for (const [cx, cy] of ends) add(graph, 'circle', {cx, cy, r: 6, fill: 'var(--n3)'});
    }
    const write = (text, attributes) => add(
      graph, 'text', {'font-size': 12, 'text-anchor': 'end', 'fill': 'var(--ink)', ...attributes},
      text);
    data.layers.forEach((_, k) => write(
      label(k), {x: data.left - 10, y: at(k, 0)[1] - data.high / 2 + 4}));
    for (const k of data.gaps) {
      add(graph, 'path', {
        'd': 'M' + data.left + ' ' + at(k, 0)[1] + 'H' + image.width, 'stroke': 'var(--faint)',
        'stroke-dasharray': '2 2',
      });
    }
    data.labels.forEach((label, i) => {
      const [x, y] = at(0, i), fill = sinks.has(i) ? 'var(--dim)' : 'var(--ink)';
      const transform = 'translate(' + (x + 4) + ' ' + (y + data.top) + ')rotate(-90)';
      write(label, {transform, fill, class: 'hm-name'});
    });
  }
  function say([k, i]) {
    readout.replaceChildren(
      make('b', {textContent: name(i) + where(k)}),
      (k > 0 ? ' has from: ' + list(edgesOf(k, i, true)) : '') +
        (k < layerCount ? ' · feeds in ' + layerName(k) + ': ' +
          list(edgesOf(k, i, false)) : ''));
  }
  function draw() {
    drawGraph();
    if (chosen) say(chosen);
    else readout.textContent = 'Point at a token and a layer, or click to keep it';
    drawSwitches(root);
    count();
  }
  function pick(k, i) {
    [k, i] = [clamp(k, layerCount + 1), clamp(i, rowCount)];
    chosen = chosen && chosen[0] === k && chosen[1] === i ? null : [k, i];
    draw();
  }
  const nodeAt = (event) => {
    const box = graph.getBoundingClientRect(), scale = box.width / image.width || 1;
    const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
    return [
      Math.max(Math.round(layerCount - (y - data.top) / data.high), 0),
      clamp(Math.floor((x - data.left) / data.wide), rowCount),
    ];
  };
  graph.onclick = (event) => pick(...nodeAt(event));
  graph.onmousemove = (event) => say(nodeAt(event));
  graph.onmouseleave = draw;
  tokens.forEach((token, j) => {
    // The token explained is predicted where the graph ends; those after it are not in the graph.
    const i = data.tokens.indexOf(j), ends = i < 0 && j === data.promptTokens + data.target;
    token.style.cursor = i < 0 && !ends ? 'default' : 'pointer';
    if (i >= 0) token.onclick = () => pick(chosen ? chosen[0] : 0, i);
    else if (ends) token.onclick = () => pick(layerCount, rowCount - 1);
    else if (j >= data.promptTokens)
      token.onclick = () => { readout.textContent = 'This token is not in the graph'; };
  });
  function move(up, side) {
    const [k, i] = chosen || [layerCount, rowCount - 1];
    const next = [clamp(k + up, layerCount + 1), clamp(i + side, rowCount)];
    if (!chosen || next[0] !== k || next[1] !== i) pick(...next);
  }
  onKeys(root, () => ({
    ArrowLeft: () => move(0, -1), ArrowRight: () => move(0, 1), ArrowUp: () => move(1, 0),
    ArrowDown: () => move(-1, 0), Escape: () => {
      chosen = null;
      draw();
    },
  }));
  liven(root, data, choice);
  draw();
}

begin('.hm-flow', start);
