package gguftest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// The matrices of experts: each in a tensor of its own, gate and up below each other in one tensor
// of all experts (Granite), or with columns that alternate there (GPT-OSS).
var (
	eachExpert    = regexp.MustCompile(`^(.*\.experts\.)(\d+)(\.(\w+?)(_proj)?\.weight)$`)
	graniteExpert = regexp.MustCompile(`\.(input|output)_linear\.weight$`)
	ossExpert     = regexp.MustCompile(`\.experts\.(gate_up|down)_proj(_bias)?$`)
)

// experts adds a tensor of experts as the file has it, in one of all of them for each matrix, and
// reports whether hf is such a tensor.
func (c *converter) experts(hf string, dir *checkpoint.Dir) bool {
	read := func(hf string) ([]int, []float32) {
		shape, err := dir.Weights.Shape(hf)
		if err != nil {
			c.err = err
			return nil, nil
		}
		x, err := dir.Weights.Float32(hf)
		if err != nil {
			c.err = err
		}
		return shape, x
	}
	layer := 0
	if _, err := fmt.Sscanf(hf, "model.layers.%d.", &layer); err != nil {
		return false
	}
	put := func(which, end string, shape []int, x []float32) {
		name := fmt.Sprintf("blk.%d.ffn_%s_exps.%s", layer, which, end)
		c.file.Tensors = append(c.file.Tensors, Float32(name, shape, x))
	}
	if each := eachExpert.FindStringSubmatch(hf); each != nil {
		if each[2] != "0" { // added with the first one
			return true
		}
		which := strings.NewReplacer("w1", "gate", "w2", "down", "w3", "up").Replace(each[4])
		experts := c.int("num_experts", "num_local_experts")
		var all []float32
		shape, _ := read(hf)
		for e := range experts {
			_, x := read(fmt.Sprint(each[1], e, each[3]))
			all = append(all, x...)
		}
		put(which, "weight", append([]int{experts}, shape...), all)
		return true
	}
	if granite := graniteExpert.FindStringSubmatch(hf); granite != nil {
		shape, x := read(hf)
		if granite[1] == "output" {
			put("down", "weight", shape, x)
			return true
		}
		half := []int{shape[0], shape[1] / 2, shape[2]}
		for i, which := range []string{"gate", "up"} {
			put(which, "weight", half, picked(shape[0]*shape[1], shape[2], x, func(row int) bool {
				return row%shape[1]/half[1] == i
			}))
		}
		return true
	}
	oss := ossExpert.FindStringSubmatch(hf)
	if oss == nil {
		return false
	}
	shape, x := read(hf)
	end, in := "bias", 1
	if oss[2] == "" { // [X,in,out], where the file has [X,out,in]
		end, in = "weight", shape[1]
		x = turnedEach(shape, x)
		shape = []int{shape[0], shape[2], shape[1]}
	}
	if oss[1] == "down" {
		put("down", end, shape, x)
		return true
	}
	half := append([]int(nil), shape...)
	half[1] /= 2
	for i, which := range []string{"gate", "up"} {
		put(which, end, half, picked(shape[0]*shape[1], in, x, func(row int) bool {
			return row%2 == i
		}))
	}
	return true
}

// picked are some of the rows of x [rows,in].
func picked(rows, in int, x []float32, is func(row int) bool) (some []float32) {
	for row := range rows {
		if is(row) {
			some = append(some, x[row*in:][:in]...)
		}
	}
	return some
}

// turnedEach turns each of the matrices x [X,in,out].
func turnedEach(shape []int, x []float32) (all []float32) {
	for size := shape[1] * shape[2]; len(x) > 0; x = x[size:] {
		_, turned := transposeGPT2(nil, "blk.", shape[1:], x[:size])
		all = append(all, turned...)
	}
	return all
}

func expertKeys(c *converter) {
	llamaKeys(c)
	c.size("expert_count", c.int("num_experts", "num_local_experts"))
	c.size("expert_used_count", c.int("num_experts_per_tok"))
	if n := c.int("moe_intermediate_size"); n > 0 {
		c.size("expert_feed_forward_length", n)
	}
	if n := c.int("shared_expert_intermediate_size"); n > 0 {
		c.size("expert_shared_feed_forward_length", n)
	}
}

func graniteMoEKeys(c *converter) {
	graniteKeys(c)
	c.size("expert_count", c.int("num_local_experts"))
	c.size("expert_used_count", c.int("num_experts_per_tok"))
}

func gptOSSKeys(c *converter) {
	expertKeys(c)
	c.size("attention.sliding_window", c.int("sliding_window"))
	c.size("expert_feed_forward_length", c.int("intermediate_size"))
}
