package catalog

// stub
import "errors"

const defaultMaxPlugin = 1 << 20

type PluginOptions struct {
	MaxBytes      int
	ServerVersion string
}

type Plugin struct {
	ClassName   string
	ModuleName  string
	Name        string
	Description string
}

func (o *PluginOptions) configure() (PluginOptions, error) {
	if o == nil {
		return PluginOptions{}, nil
	}
	if o.MaxBytes < 0 {
		return PluginOptions{}, errors.New("x")
	}
	return *o, nil
}

func CheckPlugin(filename string, source []byte, o *PluginOptions) (*Plugin, error) {
	return &Plugin{}, nil
}
