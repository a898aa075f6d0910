// What the scripts of all pictures share. It stands before each of them, in one function with it.
// All text is set as text, never as markup. Nothing is requested.

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

// make returns an element with its properties, among them those that begin with aria, and children.
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
// rightToLeft finds the letters of scripts that are written from right to left.
const rightToLeft =
    /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
// isolate keeps a name that is written from right to left from changing the direction of what
// follows.
const isolate = (text) => rightToLeft.test(text) ? '\u2068' + text + '\u2069' : text;
const clamp = (x, count) => Math.max(Math.min(x, count - 1), 0);
// within is x if it is an index below size.
const within = (x, size, otherwise) => x >= 0 && x < size ? x : otherwise;

// paletteMenu adds a menu of switches and palettes to the top of a board or to the tools of its
// matrix, and gives the board the palette that a reader chose.
function paletteMenu(root, names, choice, switches) {
  const buttons = names.map((name) => make('button', {
    type: 'button', textContent: name.replace('-', ' and '), onclick: () => {
      choice.palette = name;
      paint();
      menu.open = false;
    },
  }));
  const menu = make('details', {className: 'hm-menu'},
    make('summary', {textContent: '⋯', ariaLabel: 'more'}),
    make('div', {}, ...switches, 'Colours', ...buttons));
  function paint() {
    const palette = root.dataset.palette = choice.palette || root.dataset.palette;
    buttons.forEach((button) => { button.ariaChecked = button.dataset.palette === palette; });
  }
  buttons.forEach((button, i) => { button.dataset.palette = names[i]; });
  (root.querySelector('.hm-tools') || root.querySelector('.hm-top')).append(menu);
  paint();
}

// choices returns what the reader chose in a picture, which outlives an update of the output.
// Pictures of one explanation choose apart: a picture goes on from one that is not on the page any
// more.
function choices(id, root, first) {
  const pictures = window.headwaterPictures = window.headwaterPictures || {};
  const all = pictures[id] = pictures[id] || [];
  const gone = (picture) => !(picture.root.deref() || {}).isConnected;
  const mine = all.find((picture) => picture.root.deref() === root) || all.find(gone) ||
    all[all.push({}) - 1];
  const choice = JSON.parse(JSON.stringify(mine.choice || first));
  Object.assign(mine, {root: new WeakRef(root), choice});
  return choice;
}
// onKeys answers keys: actsAt returns what they do, by their names.
function onKeys(root, actsAt) {
  root.onkeydown = (event) => {
    const act = actsAt(event)[event.key], {target} = event;
    const other = event.altKey || event.ctrlKey || event.metaKey || target.matches('.hm-scroll') ||
      target.closest('button,summary');
    if (!act || other) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
}
// liven ends the start of a script: the board has its menu, its keys are its own, and the blocks
// are open that the reader had opened.
function liven(root, {palettes}, choice, switches = []) {
  const details = root.querySelector('.hm-details');
  paletteMenu(root, palettes, choice, switches);
  root.classList.add('hm-on');
  root.setAttribute('data-lm-suppress-shortcuts', 'true');
  if (details) details.open = false; // it was open for readers without a script
  root.querySelectorAll('details').forEach((block) => {
    const key = block.querySelector('summary').firstChild.textContent;
    if (key in choice.open) block.open = choice.open[key];
    block.ontoggle = () => { choice.open[key] = block.open; };
  });
}
// begin starts the picture that the script stands in, or, where a host moves scripts, all of a
// kind, once what they need is unpacked. Until then, and in a browser that cannot unpack, the
// picture is the static one.
function begin(kind, start) {
  if (!window.DecompressionStream) return;
  const script = document.currentScript, own = script && script.closest('.hm');
  for (const root of own ? [own] : document.querySelectorAll(kind)) {
    const packed = root.querySelector('script[type="text/plain"]');
    if (!packed || root.hwStarted) continue;
    root.hwStarted = unpack(packed.textContent).then((data) => start(root, data));
  }
}
