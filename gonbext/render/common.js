// What the scripts of all pictures share. It stands before each of them, in one function with it.
// All text comes from the elements of a picture and is set as text, never as markup. The attribute
// data-hw has numbers only. Nothing is requested.
const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const digit = new Uint8Array(128);
[...digits].forEach((c, i) => { digit[c.charCodeAt(0)] = i; });
// pair is the number that two digits of a code stand for.
const pair = (code, at) => 64 * digit[code.charCodeAt(at)] + digit[code.charCodeAt(at + 1)];
// Paints are steps of a scale, up to levels, or one of these: that of a sink, that of no number.
const levels = 6, grey = 7, none = 8;
// colorsOf returns the colours of paints in a palette. palettes, which html.go writes before this, has
// of each palette its name and its colours: the steps above the neutral value, then those below it.
const colorsOf = (palette) => (n) => n === grey ? '#8884' : n === none ? '#888a' : palettes[palette][1][n < 0 ? levels - 1 - n : n - 1];

const make = (tag, of) => Object.assign(document.createElement(tag), of);
function style(e, css) {
  if ((e.getAttribute('style') || '') === css) return;
  if (css) e.setAttribute('style', css);
  else e.removeAttribute('style');
}
// isolate keeps a name that is written from right to left from changing the direction of what follows.
const isolate = (x) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(x) ? '\u2068' + x + '\u2069' : x;
// quoted names token j of a text whose prompt has m tokens; answer is what those after it are called.
const quoted = (text, j, m, answer) => '“' + isolate(text) + '” (' + (j < m ? j : answer + ' ' + (j - m + 1)) + ')';
const clamp = (x, count) => Math.max(Math.min(x, count - 1), 0);

// recolor gives what stands in a picture the colours of another palette: elements, images, and what
// was drawn in the place of an image.
function recolor(root, from, to) {
  const [was, colors] = [palettes[from][1], palettes[to][1]];
  if (was === colors) return;
  const other = (all, key, hex) => was.includes(hex) ? key + colors[was.indexOf(hex)] : all;
  root.querySelectorAll('[style*="background:#"]').forEach((e) => {
    style(e, e.getAttribute('style').replace(/(background:)(#\w+)/, other));
  });
  root.querySelectorAll('img[src^="data:image/svg"]').forEach((e) => {
    const [head, code] = e.src.split(',');
    e.src = head + ',' + btoa(atob(code).replace(/(stroke=")(#\w+)/g, other));
  });
  root.querySelectorAll('img[src^="data:image/png"]').forEach((e) => {
    e.src = repaint(e.src, colors);
    if (e.hwDraw) e.hwDraw();
  });
}
// paletteOf is the number of the palette that a picture has: what a reader chose, or that of d.
const paletteOf = (d, s) => palettes[s.palette] ? s.palette : d.c || 0;
// colorButton returns a button that gives a picture the next palette; then does what is left to do.
function colorButton(root, d, s, then) {
  const e = make('button', {type: 'button', onclick: () => {
    const from = paletteOf(d, s);
    s.palette = (from + 1) % palettes.length;
    then(from, s.palette);
    name();
  }}), name = () => { e.textContent = 'colours: ' + palettes[paletteOf(d, s)][0]; };
  name();
  return e;
}
// repaint returns the address of a PNG in other colours. Entry 0 of its palette is none, the steps follow.
function repaint(address, colors) {
  const comma = address.indexOf(',') + 1, bytes = Uint8Array.from(atob(address.slice(comma)), (c) => c.charCodeAt(0)), view = new DataView(bytes.buffer);
  for (let i = 8, size; i < bytes.length; i += size + 12) {
    size = view.getUint32(i);
    // Of a colour #rgba, the first chunk has r, g and b and the second a.
    const parts = {PLTE: [1, 2, 3], tRNS: [4]}[String.fromCharCode(...bytes.subarray(i + 4, i + 8))];
    if (!parts) continue;
    colors.forEach((hex, n) => parts.forEach((at, k) => { bytes[i + 8 + (n + 1) * parts.length + k] = 17 * parseInt(hex[at], 16); }));
    let sum = -1; // the checksum of the chunk
    for (const b of bytes.subarray(i + 4, i + 8 + size)) {
      sum ^= b;
      for (let bit = 8; bit; bit--) sum = sum >>> 1 ^ (sum & 1 && 0xedb88320);
    }
    view.setUint32(i + 8 + size, ~sum);
  }
  return address.slice(0, comma) + btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''));
}

// choices returns what the reader chose in a picture, which outlives an update of the output.
// Pictures of one explanation choose apart: a picture goes on from one that is not on the page any
// more.
function choices(id, root, first) {
  const pictures = window.headwaterPictures = window.headwaterPictures || {}, all = pictures[id] = pictures[id] || [];
  const mine = all.find((e) => !(e.root.deref() || {}).isConnected) || all[all.push({}) - 1];
  const s = JSON.parse(JSON.stringify(mine.s || first));
  Object.assign(mine, {root: new WeakRef(root), s});
  return s;
}
// keepOpen opens the blocks that the reader had opened.
function keepOpen(root, open) {
  root.querySelectorAll('details').forEach((e) => {
    const key = e.querySelector('summary').textContent;
    if (key in open) e.open = open[key];
    e.ontoggle = () => { open[key] = e.open; };
  });
}
// finish makes the marks of the static picture classes, which follow the choice, and draws the choice.
function finish(root, d, s, draw) {
  keepOpen(root, s.open);
  root.querySelectorAll('.hw-t b').forEach((e) => { e.replaceWith(...e.childNodes); });
  root.querySelectorAll(':is(.hw-r,.hw-l) th b').forEach((e) => { e.replaceWith(e.textContent.replace(/^▸\s/, '')); });
  root.classList.add('hw-on');
  recolor(root, d.c || 0, paletteOf(d, s));
  draw();
}
// listen makes an element answer to keys, but not for a button in it: act returns what a key does,
// undefined if nothing.
function listen(e, label, act) {
  e.tabIndex = 0;
  e.setAttribute('role', 'group');
  e.setAttribute('aria-label', label);
  e.setAttribute('data-lm-suppress-shortcuts', 'true');
  e.onkeydown = (event) => {
    const does = event.target === e && !event.altKey && !event.ctrlKey && !event.metaKey && act(event);
    if (!does) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  };
}
// canvasFor returns the canvas that takes the place of an image, empty.
function canvasFor(img) {
  let c = img.nextSibling;
  if (!c || c.localName !== 'canvas') {
    c = make('canvas', {className: img.className, width: img.width, height: img.height});
    c.setAttribute('style', img.getAttribute('style'));
    c.setAttribute('role', 'img');
    c.setAttribute('aria-label', img.alt);
    img.after(c);
    img.hidden = true;
  }
  c.getContext('2d').clearRect(0, 0, c.width, c.height);
  return c;
}
// brush is what a canvas fills cells of a paint with: a colour, which below the neutral value is hatched
// as in images, where every fourth diagonal is left out (png of paint.go).
const brushes = {};
function brush(g, n, color) {
  if (n >= 0 || brushes[color]) return n >= 0 ? color : brushes[color];
  const tile = make('canvas', {width: 4, height: 4}), t = tile.getContext('2d');
  t.fillStyle = color;
  for (let i = 0; i < 16; i++) if ((i % 4 + (i >> 2)) % 4) t.fillRect(i % 4, i >> 2, 1, 1);
  return brushes[color] = g.createPattern(tile, 'repeat');
}
// mark marks a part of an image in its box, and returns the mark. The part is in parts of the whole.
function mark(box, left, top, width, height) {
  box.className = 'hw-w';
  const e = box.querySelector('.hw-p') || box.appendChild(make('div', {className: 'hw-p'}));
  e.setAttribute('style', 'left:' + 100 * left + '%;top:' + 100 * top + '%;width:' + 100 * width + '%;height:' + 100 * height + '%');
  return e;
}
// markLine marks line i of an image of size × size cells, or its column i.
const markLine = (img, i, size, column) => mark(img.parentElement, ...(column ? [i / size, 0, 1 / size, 1] : [0, i / size, 1, 1 / size]));
// chooseToken answers a click on token j of a text in which token i is chosen: the chosen one, or any
// with Shift, is shown as a source, and once more goes back.
function chooseToken(j, event, i, s, pick, feeds) {
  if (j < 0) return;
  if (event.shiftKey || j === i && !s.fed) feeds(j);
  else pick(j);
}
// addTo adds a line on the place that a reader clicked to what a picture says, where nothing points.
function addTo(say, text) {
  if (text) say.append(make('div', {textContent: text}));
}
// inside returns the column and the row of an image that the pointer is on.
function inside(event, img, columns, rows) {
  const r = img.getBoundingClientRect();
  return [Math.floor((event.clientX - r.left) / r.width * columns), Math.floor((event.clientY - r.top) / r.height * rows)];
}
// begin starts the picture that the script stands in, or, where a host moves scripts, all of a kind.
function begin(kind, start) {
  const script = document.currentScript, own = script && script.closest('.hw,.hm');
  for (const root of own ? [own] : document.querySelectorAll(kind)) {
    if (root.hwStarted) continue;
    root.hwStarted = true;
    start(root);
  }
}
