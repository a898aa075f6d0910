package gonbext

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/signal"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/gonbext/render/reproduction"
)

// A specification of Vega-Lite travels to the kernel as maps and lists, which gob has to know.
func init() {
	gob.Register(map[string]any{})
	gob.Register([]any{})
}

// ShowChart shows a chart: as Vega-Lite, which JupyterLab and VS Code draw, with tooltips, and as
// PNG for viewers that do not. The engine of this kernel draws the PNG. Outside of a notebook it
// prints what the chart is. On an error it shows one line and ends the program; see
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
			return fmt.Errorf("gonbext: %w", err)
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		client, err := connect(ctx, out)
		if err == nil {
			p.PNG, err = client.Draw(ctx, text)
		}
		if err != nil {
			return interrupted(ctx, err)
		}
	}
	return out.picture(p)
}

// picture shows charts in the place of the display. There is no HTML beside them, which JupyterLab
// would prefer.
func (d *display) picture(p reproduction.Picture) error {
	if !d.notebook {
		fmt.Print(p.Text())
		return nil
	}
	spec, err := p.VegaLite()
	if err != nil {
		return err
	}
	d.stay(map[protocol.MIMEType]any{
		chart.MIME:             spec,
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

// note shows a remark.
func (d *display) note(text string) {
	if !d.notebook {
		fmt.Println(text)
		return
	}
	d.stay(map[protocol.MIMEType]any{
		protocol.MIMETextHTML:  words("<p><small>" + html.EscapeString(text) + "</small></p>"),
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
