// What the scripts of all pictures share. It stands before each of them, in one function with it.
// All text comes from the elements of a picture and is set as text, never as markup. The attribute
// data-hw has numbers and fixed words only. Nothing is requested.

// unpack returns what pack.go packed: JSON, compressed, in base64. A Response reads a stream to its
// end; it asks nobody for anything.
async function unpack(code) {
  const bytes = Uint8Array.from(atob(code), (character) => character.charCodeAt(0));
  const inflate = new DecompressionStream('deflate-raw'), writer = inflate.writable.getWriter();
  writer.write(bytes).catch(() => {}); // reading fails for the same reason, and is awaited
  writer.close().catch(() => {});
  return JSON.parse(await new Response(inflate.readable).text());
}
// valueOf is value j of a packed row: counts of a unit, which stands before them. A value that is
// not a number has none.
const valueOf = (row, j) => row[j + 1] === null ? NaN : row[0] * row[j + 1];
// sizeOf is how many values a packed row has.
const sizeOf = (row) => row.length - 1;

// Paints are steps of a scale, up to levels, or one of these: that of a sink, that of no number.
const levels = 6, grey = 7, none = 8;
// colorsOf returns the colours of paints in a palette. palettes, which html.go writes before this,
// has of each palette its name and its colours: the steps above the neutral value, then those below
// it.
const colorsOf = (palette) => (paint) => {
  if (paint === grey) return '#8884';
  if (paint === none) return '#888a';
  return palettes[palette][1][paint < 0 ? levels - 1 - paint : paint - 1];
};

const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
function style(element, css) {
  if ((element.getAttribute('style') || '') === css) return;
  if (css) element.setAttribute('style', css);
  else element.removeAttribute('style');
}
// rightToLeft finds the letters of scripts that are written from right to left.
const rightToLeft =
    /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
// isolate keeps a name that is written from right to left from changing the direction of what
// follows.
const isolate = (text) => rightToLeft.test(text) ? '\u2068' + text + '\u2069' : text;
// quoted names token j of a text whose prompt has promptTokens; answer is what those after it are
// called.
const quoted = (text, j, promptTokens, answer) => '“' + isolate(text) + '” (' +
    (j < promptTokens ? j : answer + ' ' + (j - promptTokens + 1)) + ')';
const clamp = (x, count) => Math.max(Math.min(x, count - 1), 0);
// within is x if it is an index below size.
const within = (x, size, otherwise) => x >= 0 && x < size ? x : otherwise;

// recolor gives what stands in a picture the colours of another palette: elements, images, and what
// was drawn in the place of an image.
function recolor(root, from, to) {
  const [before, colors] = [palettes[from][1], palettes[to][1]];
  if (before === colors) return;
  const other = (all, key, hex) => before.includes(hex) ? key + colors[before.indexOf(hex)] : all;
  root.querySelectorAll('[style*="background:#"]').forEach((element) => {
    style(element, element.getAttribute('style').replace(/(background:)(#\w+)/, other));
  });
  root.querySelectorAll('img[src^="data:image/svg"]').forEach((image) => {
    const [head, code] = image.src.split(',');
    image.src = head + ',' + btoa(atob(code).replace(/(stroke=")(#\w+)/g, other));
  });
  root.querySelectorAll('img[src^="data:image/png"]').forEach((image) => {
    image.src = repaint(image.src, colors);
    if (image.hwDraw) image.hwDraw();
  });
}
// paletteOf is the number of the palette that a picture has: what a reader chose, or its own.
const paletteOf = (data, choice) =>
  palettes[choice.palette] ? choice.palette : data.palette || 0;
// colorButton returns a button that gives a picture the next palette; then does what is left to do.
function colorButton(data, choice, then) {
  const button = make('button', {type: 'button', onclick: () => {
    const from = paletteOf(data, choice);
    choice.palette = (from + 1) % palettes.length;
    then(from, choice.palette);
    name();
  }});
  const name = () => {
    button.textContent = 'colours: ' + palettes[paletteOf(data, choice)][0];
  };
  name();
  return button;
}
// repaint returns the address of a PNG in other colours. Entry 0 of its palette is none, the steps
// follow.
function repaint(address, colors) {
  const comma = address.indexOf(',') + 1;
  const bytes = Uint8Array.from(atob(address.slice(comma)), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  for (let i = 8, size; i < bytes.length; i += size + 12) {
    size = view.getUint32(i);
    // Of a colour #rgba, the first chunk has r, g and b and the second a.
    const name = String.fromCharCode(...bytes.subarray(i + 4, i + 8));
    const parts = {PLTE: [1, 2, 3], tRNS: [4]}[name];
    if (!parts) continue;
    colors.forEach((hex, step) => parts.forEach((at, k) => {
      bytes[i + 8 + (step + 1) * parts.length + k] = 17 * parseInt(hex[at], 16);
    }));
    view.setUint32(i + 8 + size, checksum(bytes.subarray(i + 4, i + 8 + size)));
  }
  return address.slice(0, comma) + btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''));
}
// checksum is the CRC-32 of bytes.
function checksum(bytes) {
  let sum = -1;
  for (const b of bytes) {
    sum ^= b;
    for (let bit = 8; bit; bit--) sum = sum >>> 1 ^ (sum & 1 && 0xedb88320);
  }
  return ~sum >>> 0;
}

// paletteMenu adds a menu of the palettes to the top of a board, and gives the board the palette
// that a reader chose. then, if any, is called after each choice, to draw what no style sheet
// colours.
function paletteMenu(root, names, choice, then) {
  const menu = make('details', {className: 'hm-menu'});
  const list = make('div', {textContent: 'Colours'});
  const paint = () => {
    root.dataset.palette = choice.palette || root.dataset.palette;
    list.querySelectorAll('button').forEach((button) => {
      button.setAttribute('aria-checked', button.dataset.palette === root.dataset.palette);
    });
    if (then) then();
  };
  for (const name of names) {
    const button = make('button', {
      type: 'button',
      textContent: name.replace('-', ' and '),
      onclick: () => {
        choice.palette = name;
        paint();
        menu.open = false;
      },
    });
    button.dataset.palette = name;
    list.append(button);
  }
  menu.append(make('summary', {textContent: '⋯', ariaLabel: 'more'}), list);
  root.querySelector('.hm-top').append(menu);
  paint();
}

// choices returns what the reader chose in a picture, which outlives an update of the output.
// Pictures of one explanation choose apart: a picture goes on from one that is not on the page any
// more.
function choices(id, root, first) {
  const pictures = window.headwaterPictures = window.headwaterPictures || {};
  const all = pictures[id] = pictures[id] || [];
  const gone = (picture) => !(picture.root.deref() || {}).isConnected;
  const mine = all.find(gone) || all[all.push({}) - 1];
  const choice = JSON.parse(JSON.stringify(mine.choice || first));
  Object.assign(mine, {root: new WeakRef(root), choice});
  return choice;
}
// keepOpen opens the blocks that the reader had opened.
function keepOpen(root, open) {
  root.querySelectorAll('details').forEach((block) => {
    const key = block.querySelector('summary').textContent;
    if (key in open) block.open = open[key];
    block.ontoggle = () => { open[key] = block.open; };
  });
}
// finish makes the marks of the static picture classes, which follow the choice, and draws the
// choice.
function finish(root, data, choice, draw) {
  keepOpen(root, choice.open);
  root.querySelectorAll('.hw-t b').forEach((bold) => { bold.replaceWith(...bold.childNodes); });
  root.querySelectorAll(':is(.hw-r,.hw-l) th b').forEach(unmark);
  root.classList.add('hw-on');
  recolor(root, data.palette || 0, paletteOf(data, choice));
  draw();
}
// unmark removes the mark of the row that is chosen in the static picture.
const unmark = (bold) => bold.replaceWith(bold.textContent.replace(/^▸\s/, ''));
// listen makes an element answer to keys, but not for a button in it: act returns what a key does,
// undefined if nothing.
function listen(element, label, act) {
  element.tabIndex = 0;
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', label);
  element.setAttribute('data-lm-suppress-shortcuts', 'true');
  element.onkeydown = (event) => {
    const held = event.altKey || event.ctrlKey || event.metaKey;
    const does = event.target === element && !held && act(event);
    if (!does) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  };
}
// canvasFor returns the canvas that takes the place of an image, empty.
function canvasFor(image) {
  let canvas = image.nextSibling;
  if (!canvas || canvas.localName !== 'canvas') {
    const {className, width, height} = image;
    canvas = make('canvas', {className, width, height});
    canvas.setAttribute('style', image.getAttribute('style'));
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', image.alt);
    image.after(canvas);
    image.hidden = true;
  }
  canvas.getContext('2d').clearRect(0, 0, canvas.width, canvas.height);
  return canvas;
}
// brush is what a canvas fills cells of a paint with: a colour, which below the neutral value is
// hatched as in images, where every fourth diagonal is left out (png of paint.go).
const brushes = {};
function brush(context, paint, color) {
  if (paint >= 0 || brushes[color]) return paint >= 0 ? color : brushes[color];
  const tile = make('canvas', {width: 4, height: 4}), hatched = tile.getContext('2d');
  hatched.fillStyle = color;
  for (let i = 0; i < 16; i++) {
    if ((i % 4 + (i >> 2)) % 4) hatched.fillRect(i % 4, i >> 2, 1, 1);
  }
  return brushes[color] = context.createPattern(tile, 'repeat');
}
// mark marks a part of an image in its box, and returns the mark. The part is in parts of the
// whole.
function mark(box, left, top, width, height) {
  box.className = 'hw-w';
  const frame = box.querySelector('.hw-p') || box.appendChild(make('div', {className: 'hw-p'}));
  const percent = {left, top, width, height};
  frame.setAttribute('style',
    Object.keys(percent).map((key) => key + ':' + 100 * percent[key] + '%').join(';'));
  return frame;
}
// markLine marks line i of an image of size × size cells, or its column i.
const markLine = (image, i, size, column) =>
  mark(image.parentElement, ...(column ? [i / size, 0, 1 / size, 1] : [0, i / size, 1, 1 / size]));
// chooseToken answers a click on token j of a text in which token i is chosen: the chosen one, or
// any with Shift, is shown as a source, and once more goes back.
function chooseToken(j, event, i, choice, pick, feeds) {
  if (j < 0) return;
  if (event.shiftKey || j === i && !choice.fed) feeds(j);
  else pick(j);
}
// addTo adds a line on the place that a reader clicked to what a picture says, where nothing
// points.
function addTo(sentence, text) {
  if (text) sentence.append(make('div', {textContent: text}));
}
// inside returns the column and the row of an image that the pointer is on.
function inside(event, image, columns, rows) {
  const box = image.getBoundingClientRect();
  return [
    Math.floor((event.clientX - box.left) / box.width * columns),
    Math.floor((event.clientY - box.top) / box.height * rows),
  ];
}
// packedIn returns what Go packed for a picture: in its attribute, or in an element of its own.
function packedIn(root) {
  const element = root.querySelector('script[type="text/plain"]');
  return root.dataset.hw || element && element.textContent;
}
// begin starts the picture that the script stands in, or, where a host moves scripts, all of a
// kind, once what they need is unpacked. Until then, and in a browser that cannot unpack, the
// picture is the static one.
function begin(kind, start) {
  if (!window.DecompressionStream) return;
  const script = document.currentScript, own = script && script.closest('.hw,.hm');
  for (const root of own ? [own] : document.querySelectorAll(kind)) {
    const code = packedIn(root);
    if (!code || root.hwStarted) continue;
    root.hwStarted = unpack(code).then((data) => start(root, data));
  }
}
