// Package figures has headwater figures, which makes published figures again.
package figures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/figures"
	"github.com/headwater-ml/headwater/internal/reproduction"
	"github.com/headwater-ml/headwater/models"
)

// figuresFlags are the flags of headwater figures.
type figuresFlags struct {
	cli.ModelFlags
	dir                             string
	list, check, reduced, asGallery bool
}

// Commands is headwater figures.
var Commands = cli.Family{figuresCommand}

func figuresCommand(k *cli.Kit) *cobra.Command {
	var f figuresFlags
	cmd := &cobra.Command{
		Use:   "figures [flags] [FIGURE|DOCUMENT…]",
		Short: "make the figures and tables of the four documents, with verdicts",
		RunE: func(cmd *cobra.Command, args []string) error {
			some, err := figures.Find(args...)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			switch {
			case f.list:
				return listFigures(k, some)
			case f.check:
				return checkFigures(ctx, k, f, some)
			}
			return writeFigures(ctx, k, f, some)
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVarP(&f.dir, "output", "o", "figures", "write into this `FOLDER`")
	cmd.Flags().BoolVar(&f.list, "list", false, "list the figures and what they need")
	cmd.Flags().BoolVar(&f.check, "check", false, "write one line for each claim: what is stated, "+
		"what came out, and whether that is a regression")
	cmd.Flags().BoolVar(&f.reduced, "reduced", false, "take a few sentences where a figure has "+
		"hundreds")
	cmd.Flags().BoolVar(&f.asGallery, "gallery", false, "write figures.md and a folder of SVG "+
		"instead, for the documentation")
	return cmd
}

// listFigures writes a line for each figure.
func listFigures(k *cli.Kit, some []figures.Figure) error {
	w := tabwriter.NewWriter(k.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tDOCUMENT\tMODEL\tSHOWS")
	for _, f := range some {
		fmt.Fprintf(w, "%s\t%s, %s\t%s\t%s\n", f.ID, f.Document, f.Place, f.Model, f.Title)
	}
	return w.Flush()
}

// makeFigures makes figures, one after another, and calls each with the result.
func makeFigures(
	ctx context.Context, k *cli.Kit, f figuresFlags, some []figures.Figure,
	each func(*reproduction.Reproduction) error,
) error {
	open := map[string]*models.Model{}
	line := k.Progress()
	defer line.Clear()
	for i, one := range some {
		which := f.ModelFlags
		if which.Model == "" {
			which.Model = one.Model
		}
		m := open[which.Model]
		if m == nil {
			opener := k.Open
			if len(open) > 0 {
				opener = k.OpenSilently // the first one has said what computes
			}
			var err error
			if m, err = opener(ctx, which); err != nil {
				return err
			}
			open[which.Model] = m
		}
		line.Show("figure %d of %d: %s", i+1, len(some), one.ID)
		r, err := figures.Make(ctx, one, m, figures.Options{
			Reduced:  f.reduced,
			Progress: func(at trace.Progress) { line.Show("%s: %v", one.ID, at) },
		})
		if err != nil {
			return err
		}
		line.Clear()
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// checkFigures writes a line for each claim and returns an error for regressions.
func checkFigures(
	ctx context.Context, k *cli.Kit, f figuresFlags, some []figures.Figure,
) error {
	claims, worse, made := 0, 0, 0
	err := makeFigures(ctx, k, f, some, func(r *reproduction.Reproduction) error {
		if r.LeftOut != "" {
			if _, err := fmt.Fprintln(k.Stdout, r.LeftOut); err != nil {
				return err
			}
		} else {
			made++
		}
		for _, c := range figures.Compare(r) {
			claims++
			if c.Regression() {
				worse++
			}
			if _, err := fmt.Fprintln(k.Stdout, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if made == 0 {
		return cli.Usagef("%s", noneFits(len(some)))
	}
	if worse > 0 {
		return fmt.Errorf("%d of %d claims agreed when they were recorded and do not now", worse,
			claims)
	}
	return nil
}

// writeFigures writes files of figures and tables and a page about all.
func writeFigures(
	ctx context.Context, k *cli.Kit, f figuresFlags, some []figures.Figure,
) error {
	pictures := f.dir
	if f.asGallery {
		pictures = filepath.Join(f.dir, "figures")
	}
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return fmt.Errorf("output %s: no folder can be created there: %w",
			pictures, atomicfile.Cause(err))
	}
	var all []*reproduction.Reproduction
	made := 0
	images := map[string][]figures.Image{}
	err := makeFigures(ctx, k, f, some, func(r *reproduction.Reproduction) error {
		if r.LeftOut != "" {
			k.Say("%s", r.LeftOut)
		} else {
			made++
		}
		drawn, err := writePictures(ctx, k, f, pictures, r)
		if err == nil && !f.asGallery {
			err = writeTables(ctx, k, pictures, r)
		}
		if err == nil {
			all, images[r.ID] = append(all, r), drawn
		}
		return err
	})
	if err != nil && (f.asGallery || made == 0) {
		return err
	}
	page, name := figures.Page(all, images), "index.html"
	if f.asGallery {
		page, name = figures.Gallery(all, images, "figures"), "figures.md"
	}
	name = filepath.Join(f.dir, name)
	// After an error the page has the figures whose files are there.
	if err := errors.Join(err, writeFile(ctx, k, name, page)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(k.Stdout, "%s: %s\n", name, figures.Tally(all)); err != nil {
		return err
	}
	if made == 0 {
		return cli.Usagef("%s; %s says why", noneFits(len(all)), name)
	}
	return nil
}

// writePictures draws the pictures of a figure into files and returns them as SVG. It draws all
// before it writes the first.
func writePictures(
	ctx context.Context, k *cli.Kit, f figuresFlags, dir string, r *reproduction.Reproduction,
) ([]figures.Image, error) {
	type file struct {
		path string
		data []byte
	}
	var files []file
	formats, version := []figure.Format{figure.SVG, figure.PDF}, cli.Release()
	if f.asGallery {
		formats, version = formats[:1], "" // equal bytes for every build
	}
	var images []figures.Image
	for i, picture := range r.Pictures {
		name := r.Name(picture.Name)
		for _, format := range formats {
			drawn, err := figures.Draw(r, i, figure.Options{Format: format}, version)
			if err != nil {
				return nil, err
			}
			if format == figure.SVG {
				images = append(images, figures.Image{Name: name, SVG: drawn.Bytes})
			}
			files = append(files, file{filepath.Join(dir, name+"."+string(format)), drawn.Bytes})
		}
	}
	for _, x := range files {
		if err := writeFile(ctx, k, x.path, x.data); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// writeTables writes the tables of a figure. Markdown has its origin in a comment; CSV has no place
// for it, so a file of JSON stands beside it.
func writeTables(ctx context.Context, k *cli.Kit, dir string, r *reproduction.Reproduction) error {
	for _, t := range r.Tables {
		path := filepath.Join(dir, r.Name(t.Name))
		about := figures.About(r, t.Name, cli.Release())
		var b bytes.Buffer
		if err := t.WriteCSV(&b); err != nil {
			return err
		}
		for _, file := range []struct{ ending, text string }{
			{".csv", b.String()},
			{".csv.json", about + "\n"},
			{".md", t.Markdown() + "\n<!-- " + about + " -->\n"},
		} {
			if err := writeFile(ctx, k, path+file.ending, []byte(file.text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFile writes a whole file.
func writeFile(ctx context.Context, k *cli.Kit, path string, data []byte) error {
	out, err := k.Create(ctx, path)
	if err != nil {
		return err
	}
	defer out.Abandon()
	if _, err := out.Write(data); err != nil {
		return err
	}
	return out.Commit()
}

// noneFits says that no figure fits the model.
func noneFits(figures int) string {
	if figures == 1 {
		return "the figure does not fit the model"
	}
	return fmt.Sprintf("none of %d figures fits the model", figures)
}
