// Adds touch to a graph that is complete without it: it takes the drawing out of its image, so that
// it has the colours of the page, and shows of a chosen node what it has from which nodes, and what
// has something from it. graphData in boardgraph.go has the fields of data, with all names.
// common.js, scale.js and matrix.js stand before it.

// nodesIn returns the nodes, each with its parts and with what has a part of it, as nodes with a
// size, the largest first.
function nodesIn(data) {
  const nodes = data.nodes.map(([x, y, token, name, place, has, feeds], i) => (
    {i, x, y, token, name, place, has, feeds, from: [], to: []}));
  data.parts.forEach((parts, to) => {
    for (let k = 0, from = 0; k < parts.length; k += 2) {
      from += parts[k];
      nodes[to].from.push([nodes[from], parts[k + 1] / 1000]);
      nodes[from].to.push([nodes[to], parts[k + 1] / 1000]);
    }
  });
  for (const {from, to} of nodes) {
    for (const list of [from, to]) list.sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  }
  return nodes;
}
// curveOf is the path of an edge between two nodes, which leaves and enters them upright.
function curveOf(a, b, box) {
  const from = a.y - box / 2, to = b.y + box / 2, middle = (from + to) / 2;
  return 'M' + a.x + ' ' + from + 'C' + [a.x, middle, b.x, middle, b.x, to].join(' ');
}
// nextTo is the node beside another one, the nearest in a direction: up or aside.
function nextTo(nodes, node, up, aside) {
  const ahead = nodes.filter(({x, y}) => up ? (node.y - y) * up > 0 :
    y === node.y && (x - node.x) * aside > 0);
  const far = ({x, y}) => (up ? 1e4 : 1) * Math.abs(y - node.y) + Math.abs(x - node.x);
  return ahead.reduce((best, one) => far(one) < far(best) ? one : best, ahead[0] || node);
}

function start(root, data) {
  const choice = choices(data.id, root, {open: {}, quiet: data.showsQuiet});
  const find = (name) => root.querySelector('.hm-' + name), image = find('graph img');
  const code = Uint8Array.from(atob(image.src.split(',')[1]), (letter) => letter.charCodeAt(0));
  const graph = document.importNode(new DOMParser().parseFromString(
    new TextDecoder().decode(code), 'image/svg+xml').documentElement, true);
  const nodes = nodesIn(data), tokens = [...root.querySelectorAll('.hm-text :is(span,u)')];
  let chosen = null;
  const add = (parent, kind, attributes) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', kind);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return parent.appendChild(element);
  };
  for (const [key, value] of [['role', 'img'], ['aria-label', image.alt], ['tabindex', 0]]) {
    graph.setAttribute(key, value);
  }
  const {bar, title, readout} = barOf(...data.quiet ? [switchOf(data.quiet, () => choice.quiet,
    () => {
      choice.quiet = !choice.quiet;
      draw();
    })] : []);
  find('scroll').replaceWith(make('div', {className: 'hm-scroll hm-graph'}, graph));
  readout.setAttribute('aria-live', 'polite');
  title.textContent = data.title;
  find('after').append(bar);

  const number = (size) => data.percent ? minus((100 * size).toFixed(1)) + ' %' : size.toFixed(3);
  const list = (parts) => parts.slice(0, 6).map(
    ([{name}, size]) => name + ' ' + number(size)).join(', ') || 'no node shown here';
  const say = ({name, place, has, feeds, from, to}) => readout.replaceChildren(
    make('b', {textContent: name + place}), (has && has + list(from)) +
      (feeds && ' · ' + feeds + list(to)));
  function draw() {
    const edges = graph.querySelector('.hm-edges'), old = graph.querySelector('.hm-of');
    if (old) old.remove();
    edges.style.display = chosen ? 'none' : '';
    for (const each of graph.querySelectorAll('.hm-quiet')) {
      each.style.display = choice.quiet || chosen ? 'inline' : 'none';
    }
    if (chosen) {
      const group = add(graph, 'g', {class: 'hm-of', fill: 'none', stroke: 'var(--ink)'});
      const edge = (a, b, size) => add(group, 'path', {
        'd': curveOf(a, b, data.box), 'stroke-width': Math.max(0.3, 7 * Math.abs(size)),
      });
      chosen.from.forEach(([node, size]) => edge(node, chosen, size));
      chosen.to.forEach(([node, size]) => edge(chosen, node, size));
      add(group, 'circle', {
        cx: chosen.x, cy: chosen.y, r: data.box ? 1.4 * data.box : 6, stroke: 'var(--n3)',
        fill: data.box ? 'none' : 'var(--n3)',
      });
      say(chosen);
    } else readout.textContent = data.hint;
    drawSwitches(root);
  }
  function pick(node) {
    chosen = chosen === node ? null : node;
    draw();
  }
  const nodeAt = (event) => {
    const box = graph.getBoundingClientRect(), scale = box.width / image.width || 1;
    const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
    const far = (node) => Math.hypot(node.x - x, node.y - y);
    return nodes.reduce((best, one) => far(one) < far(best) ? one : best);
  };
  graph.onclick = (event) => pick(nodeAt(event));
  graph.onmousemove = (event) => say(nodeAt(event));
  graph.onmouseleave = draw;
  tokens.forEach((token, j) => {
    const own = nodes.filter((node) => node.token === j);
    if (j === data.ends[0] && !own.length) own.push(nodes[data.ends[1]]);
    token.style.cursor = own.length ? 'pointer' : 'default';
    token.onclick = () => own.length ?
      pick(own.find(({y}) => chosen && y === chosen.y) || own[0]) : data.outside &&
        (readout.textContent = data.outside);
  });
  const move = (up, aside) => () => {
    const to = nextTo(nodes, chosen || last(nodes), up, aside);
    if (to !== chosen) pick(to);
  };
  onKeys(root, () => ({
    ArrowLeft: move(0, -1), ArrowRight: move(0, 1), ArrowUp: move(1, 0), ArrowDown: move(-1, 0),
    Escape: () => {
      chosen = null;
      draw();
    },
  }));
  liven(root, data, choice);
  draw();
}

begin('.hm-graphs', start);
