// Adds touch to panels of layers that are complete without it: pointing at a place shows its layer,
// its token and its number, and marks the same place in the other panels. All text comes from the
// elements of the picture and is set as text, never as markup. The attribute data-hw has numbers
// only; layersData in layers.go says what each of its fields is. Nothing is requested.
(() => {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

  function start(root) {
    const d = JSON.parse(root.dataset.hw);
    const tokens = [...root.querySelectorAll('.hw-t > span')];
    const panels = [...root.querySelectorAll('.hw-d')];
    const value = (p, k, j) => {
      const at = 2 * (k * d.m + j), code = 64 * digits.indexOf(p.w[at]) + digits.indexOf(p.w[at + 1]);
      if (!code) return 'no number';
      const x = (code - 2048) / 2047 * p.t;
      if (p.x) return '×' + (2 ** x).toPrecision(3);
      return p.c ? (100 * x).toFixed(1) + ' %' : x.toPrecision(3);
    };
    const say = document.createElement('div');
    say.setAttribute('style', 'font-size:12px;min-height:1.5em');
    root.querySelector('.hw-t').after(say);
    const marks = panels.map((panel) => {
      const image = panel.querySelector('img.hw-j');
      if (!image) return null;
      const box = image.parentElement, mark = document.createElement('div');
      box.className = 'hw-w';
      mark.className = 'hw-p';
      mark.hidden = true;
      box.append(mark);
      return mark;
    });
    function show(j, k) {
      panels.forEach((panel, n) => {
        const mark = marks[n], L = d.p[n].l ? d.p[n].l.length : 0;
        if (!mark) return;
        mark.hidden = j < 0;
        if (j >= 0 && L) mark.setAttribute('style', 'left:' + 100 * j / d.m + '%;width:' + 100 / d.m + '%;top:' + 100 * (L - 1 - k) / L + '%;height:' + 100 / L + '%');
      });
    }
    panels.forEach((panel, n) => {
      const p = d.p[n], L = p && p.l ? p.l.length : 0;
      const tell = (j, k) => {
        if (!(j >= 0 && j < d.m && k >= 0 && k < L)) return '';
        return (p.o ? 'up to layer ' : 'layer ') + p.l[k] + ' · “' + tokens[j].textContent + '” (' + j + ') ' + value(p, k, j);
      };
      const image = panel.querySelector('img.hw-j');
      if (image && L) {
        const box = image.parentElement;
        box.onmousemove = (event) => {
          const r = image.getBoundingClientRect();
          const j = Math.floor((event.clientX - r.left) / r.width * d.m), k = L - 1 - Math.floor((event.clientY - r.top) / r.height * L);
          say.textContent = image.title = tell(j, k);
          show(j, k);
        };
        box.onmouseleave = () => { say.textContent = ''; show(-1, 0); };
      }
      [...panel.querySelectorAll('.hw-r')].forEach((row, i) => {
        row.onmousemove = (event) => {
          const cell = event.target.closest('td');
          if (cell) say.textContent = cell.title = tell(cell.cellIndex - 1, L - 1 - i);
        };
      });
    });
  }

  const script = document.currentScript, own = script && script.closest('.hw');
  for (const root of own ? [own] : document.querySelectorAll('.hw-layers[data-hw]')) {
    if (root.hwStarted) continue;
    root.hwStarted = true;
    start(root);
  }
})();
