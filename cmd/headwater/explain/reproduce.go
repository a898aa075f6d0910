package explain

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
)

func reproduceCommand(k *cli.Kit) *cobra.Command {
	var f cli.ModelFlags
	cmd := &cobra.Command{
		Use:   "reproduce [flags] FILE",
		Short: "make a saved figure or table again and compare it",
		Args:  oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return reproduce(cmd.Context(), k, f, args[0])
		},
	}
	f.Add(cmd)
	return cmd
}

// reproduce makes a file again and writes one line on the outcome.
func reproduce(ctx context.Context, k *cli.Kit, f cli.ModelFlags, path string) error {
	file, err := atomicfile.ReadRegular(path, export.MaxFile)
	if err != nil {
		return fmt.Errorf("%s: %w", path, atomicfile.Cause(err))
	}
	was, err := export.Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if was.Recorded {
		return cli.Usagef("%s: it was made of what another program recorded or made, which is "+
			"not in it; run headwater show with that recording again, or that program", path)
	}
	given := f
	if f, err = modelOf(was, given); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	m, err := openNamed(ctx, k, f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer sayCompiled(k, m)
	e, by, err := explainMade(ctx, k, m, was)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	nameAs(e, was.Model)
	o := export.Options{
		Show: was.Show,
		Made: export.NewMade(was.Prompt, was.Options, by, m.DType(), cli.Release()),
	}
	o.Source = was.FlowSource // also where the file chose it by itself
	err = addRecorded(ctx, &o, was.Format, m, e)
	if o.Source = was.Show.Source; err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if was.Against != nil {
		if o.Against, err = explainAgain(ctx, k, was, given, f, m); err != nil {
			return fmt.Errorf("%s: side B: %w", path, err)
		}
	}
	return reportSame(k, path, file, was, e, o)
}

// openNamed opens a model that a file may name.
func openNamed(ctx context.Context, k *cli.Kit, f cli.ModelFlags) (*models.Model, error) {
	m, err := k.Open(ctx, f)
	if err != nil && f.FromFile {
		err = fmt.Errorf(`its key "model.name": %w`, err)
	}
	return m, err
}

// explainMade explains what a file says in the way that it says.
func explainMade(
	ctx context.Context, k *cli.Kit, m *models.Model, was *export.Made,
) (*attribution.Explanation, units.Grouping, error) {
	by, err := units.ParseGrouping(was.By)
	if err != nil {
		return nil, by, fmt.Errorf(`its key "by": %w`, err)
	}
	opts := was.Options
	opts.Opens = was.Show.Opening
	e, err := watch(ctx, k, m, was.Prompt, opts)
	if err != nil {
		return nil, by, fmt.Errorf(`its keys "prompt" and "options": %w`, err)
	}
	if e, err = e.Group(by); err != nil {
		err = fmt.Errorf(`its key "by": %w`, err)
	}
	return e, by, err
}

// nameAs gives the model of an explanation the name that a file has of it, if it is the same model.
func nameAs(e *attribution.Explanation, was export.MadeModel) {
	if e.Model.Hash != was.Hash {
		return
	}
	e.Model.Name = was.Name
	if was.Local {
		e.Model.Name = "./" + was.Name // a path again, of which a file has the last part
	}
}

// explainAgain explains side B of a comparison again. m is the model of side A, which f opened;
// given are the flags of the command.
func explainAgain(
	ctx context.Context, k *cli.Kit, was *export.Made, given, f cli.ModelFlags, m *models.Model,
) (*export.Against, error) {
	b := was.Against
	ofB, err := modelOfB(was, given, f)
	if err != nil {
		return nil, err
	}
	if ofB != f {
		if m, err = openNamed(ctx, k, ofB); err != nil {
			return nil, err
		}
	}
	e, by, err := explainMade(ctx, k, m, b)
	if err != nil {
		return nil, err
	}
	nameAs(e, b.Model)
	return &export.Against{
		Explanation: e, Made: export.NewMade(b.Prompt, b.Options, by, m.DType(), cli.Release()),
	}, nil
}

// modelOfB returns the flags of the model of side B, where f are those of side A and given those of
// the command. The backend is that of side B in the file: an embedded model may have run on another
// one than a model of side A.
func modelOfB(was *export.Made, given, f cli.ModelFlags) (cli.ModelFlags, error) {
	b := was.Against
	given.Model, given.Pre = "", ""
	if b.Model.Hash == was.Model.Hash {
		given.Model, given.FromFile, given.Pre = f.Model, f.FromFile, f.Pre
	} else if b.Model.Local {
		return given, cli.Usagef("its model, %.60q, was opened by a path, which is not in the "+
			"file; make the comparison again with headwater explain --against-model", b.Model.Name)
	}
	return modelOf(b, given)
}

// reportSame reports whether a file is what is made now, and how it differs if it is not.
func reportSame(k *cli.Kit,
	path string, file []byte, was *export.Made, e *attribution.Explanation, o export.Options,
) error {
	now, _, err := export.Encode(e, was.Format, o)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(file, now) {
		_, err := fmt.Fprintf(k.Stdout, "%s: made again, byte for byte the same\n", path)
		return err
	}
	differences := was.Difference(e, o)
	for _, d := range differences {
		if _, err := fmt.Fprintf(k.Stdout, "%s: %s\n", path, d); err != nil {
			return err
		}
	}
	if o.Made.Version != was.Version {
		// Would it be the same if the version were? Then only the version differs.
		o.Made.Version = was.Version
		if o.Against != nil && was.Against != nil {
			o.Against.Made.Version = was.Against.Version
		}
		same, _, err := export.Encode(e, was.Format, o)
		if err == nil && bytes.Equal(file, same) {
			_, err := fmt.Fprintf(k.Stdout, "%s: apart from the version, byte for byte the same\n",
				path)
			return err
		}
	}
	if len(differences) == 0 {
		return fmt.Errorf("%s: a new run agrees with what the file says of how it was made, and "+
			"the rest of the file is not the same: it was edited or cut short, or another build "+
			"of the program draws it differently", path)
	}
	return fmt.Errorf("%s: it cannot be made again as it is", path)
}

// modelOf returns the flags of a model: those given, and otherwise what the file says. A file may
// come from anybody, so it cannot name a path.
func modelOf(was *export.Made, f cli.ModelFlags) (cli.ModelFlags, error) {
	name := was.Model.Name
	if f.Model == "" {
		if was.Model.Local || !plainName(name) {
			return f, cli.Usagef("its model, %.60q, was opened by a path, which is not in the "+
				"file; name the model with --model", name)
		}
		f.Model, f.FromFile = name, true
	}
	if f.Backend == "" {
		switch was.Model.Backend {
		case "go", "xla", "cuda":
			f.Backend = was.Model.Backend
		default:
			return f, fmt.Errorf("its key \"model.backend\" is %.60q; name one with --backend",
				was.Model.Backend)
		}
	}
	if f.DType == "" {
		switch was.Model.DType {
		case "", "float32", "bfloat16":
			f.DType = was.Model.DType
		default:
			return f, fmt.Errorf("its key \"model.dtype\" is %.60q; name one with --dtype",
				was.Model.DType)
		}
	}
	return f, nil
}

// plainName reports whether a name is no path: a word, or two with a slash as names of the Hub,
// none of them with a dot in front.
func plainName(name string) bool {
	slashes := 0
	before := '/'
	for _, r := range name {
		switch {
		case r == '/':
			slashes++
			if before == '/' {
				return false
			}
		case r == '.' && before == '/', r == '\\', r == '~', r < 0x21, r > 0x7e:
			return false
		}
		before = r
	}
	return name != "" && before != '/' && slashes <= 1
}

// oneFile refuses another number of arguments than one.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("%s takes one file, got %s; see %s --help", cmd.Name(),
			message.Count(len(args), "argument"), cmd.CommandPath())
	}
	return nil
}
