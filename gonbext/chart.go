package gonbext

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("gonbext")

// ShowChart shows a chart: as SVG, with titles that tell the numbers, and as PNG for viewers that
// show no SVG. The engine of this kernel draws both. Outside of a notebook it prints what the chart
// is. On an error it shows one line and ends the program; see
// [TryShowCharts].
func ShowChart(c chart.Chart) { ShowCharts(1, c) }

// ShowCharts is [ShowChart] for several charts, columns of them side by side.
func ShowCharts(columns int, charts ...chart.Chart) {
	if err := TryShowCharts(columns, charts...); err != nil {
		newDisplay().exit(err)
	}
}

// TryShowCharts is [ShowCharts], with the error returned: data that do not fit the kind of a chart,
// or an engine that does not answer.
func TryShowCharts(columns int, charts ...chart.Chart) error {
	return worded(showCharts(columns, charts))
}

// showCharts is TryShowCharts, with the error as it comes.
func showCharts(columns int, charts []chart.Chart) error {
	if len(charts) == 0 {
		return usagef("there is no chart to show")
	}
	p := reproduction.Picture{Columns: columns, Charts: charts}
	for i := range charts {
		if err := charts[i].Check(); err != nil {
			return usagef("chart %d of %d: %v", i, len(charts), err)
		}
	}
	out := newDisplay()
	if out.notebook {
		text, err := json.Marshal(p)
		if err != nil {
			return pkg.Errorf("%w", err)
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		client, err := connect(ctx, out)
		if err == nil {
			var drawn []byte
			if drawn, _, err = client.Draw(ctx, "", text, nil); err == nil {
				err = json.Unmarshal(drawn, &p.Drawn)
			}
		}
		if err != nil {
			return interrupted(ctx, err)
		}
	}
	if err := out.picture(p); err != nil {
		return err
	}
	drewOther("the latest picture is a chart: save it with gonbext.SaveChart and the chart")
	return nil
}

// SaveChart saves a chart to a file, in the format that its name ends with: .svg, .pdf, .png, .tex
// or, for the numbers as a table, .csv. Of the [Show], Size, Font and Palette count:
//
//	gonbext.SaveChart("losses.pdf", losses, gonbext.Show{Size: "column"})
//
// The engine of this kernel draws it. A file that exists is replaced when the new one is complete,
// and remarks on what the file cannot show are printed. On an error SaveChart shows one line and
// ends the program; see [TrySaveChart].
func SaveChart(path string, c chart.Chart, show ...Show) {
	f, err := saveChart(path, c, show)
	f.tell(err)
}

// TrySaveChart is [SaveChart], with the remarks and the error returned.
func TrySaveChart(path string, c chart.Chart, show ...Show) (notes []string, err error) {
	f, err := saveChart(path, c, show)
	return f.remarks, worded(err)
}

// saveChart is TrySaveChart, with the error as it comes.
func saveChart(path string, c chart.Chart, shows []Show) (f savedFile, err error) {
	show, err := onlyShow(shows)
	if err != nil {
		return f, err
	}
	size := show.Look()
	if show.Size, show.Font, show.Palette = "", 0, ""; !reflect.ValueOf(show).IsZero() {
		return f, usagef("a chart has Size, Font and Palette of Show; leave the others empty")
	}
	look, err := showJSON(size)
	if err != nil {
		return f, err
	}
	if err := c.Check(); err != nil {
		return f, usagef("%v", err)
	}
	text, err := json.Marshal(reproduction.Picture{Columns: 1, Charts: []chart.Chart{c}})
	if err != nil {
		return f, pkg.Errorf("%w", err)
	}
	return saveFile(path, func(ctx context.Context) ([]byte, []string, error) {
		if strings.ToLower(filepath.Ext(path)) == ".csv" {
			var b bytes.Buffer
			err := c.WriteCSV(&b)
			return b.Bytes(), []string{"table of the chart"}, err
		}
		out := newDisplay()
		defer out.clear()
		client, err := connect(ctx, out)
		if err != nil {
			return nil, nil, err
		}
		return client.Draw(ctx, filepath.Base(path), text, look)
	})
}

// picture shows charts in the place of the display. There is no HTML beside them, which JupyterLab
// would prefer.
func (d *display) picture(p reproduction.Picture) error {
	if !d.notebook {
		fmt.Print(p.Text())
		return nil
	}
	d.stay(map[protocol.MIMEType]any{
		protocol.MIMEImageSVG:  string(p.SVG),
		protocol.MIMEImagePNG:  p.PNG,
		protocol.MIMETextPlain: p.Text(),
	})
	return nil
}

// table shows a table.
func (d *display) table(t reproduction.Table) {
	if !d.notebook {
		fmt.Print(t.Text())
		return
	}
	d.stay(map[protocol.MIMEType]any{
		protocol.MIMETextHTML: words(t.HTML()), protocol.MIMETextPlain: t.Text(),
	})
}

// note shows a remark, and in a notebook markup below it.
func (d *display) note(text, markup string) {
	if !d.notebook {
		fmt.Println(text)
		return
	}
	d.stay(map[protocol.MIMEType]any{
		protocol.MIMETextHTML: words("<p><small>" + html.EscapeString(text) + "</small></p>" +
			markup),
		protocol.MIMETextPlain: text + "\n",
	})
}

// stay shows data that stay: in the place of what showed the progress, if there is one.
func (d *display) stay(data map[protocol.MIMEType]any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
	d.send(data)
	d.id = ""
	gonbui.Sync()
}
