package attribution

func init() {
	for _, m := range []Method{
		{
			Name: "raw", Mixing: "attention", Aggregation: "layer",
			Summary: "attention of one layer as it is: what the token reads there",
			Formula: "M_l = A_l", Paper: "Abnar and Zuidema 2020, §2",
			Cost: "nothing beyond generating",
		},
		{
			Name: "rollout", Mixing: "attention", Aggregation: "rollout", Residual: 0.5,
			Summary: "attention followed through all layers: how much of the token comes from each input token",
			Formula: "R_l = Â_l R_{l-1}, Â = rownorm((1-r)A + rI), r = ½", Paper: "Abnar and Zuidema 2020, §3",
			Cost: "L·T² multiplications a token, about nothing beside the model",
		},
		{
			Name: "flow", Mixing: "attention", Aggregation: "flow", Residual: 0.5,
			Summary: "the most that could reach the token from each input token if attention were the width of pipes",
			Formula: "F_l[t,j] = max-flow (l,t)→(0,j), capacities Â = rownorm((1-r)A + rI), r = ½",
			Paper:   "Abnar and Zuidema 2020, §3",
			Cost:    "T max-flow problems a token for the top layer, milliseconds at T = 64; L times that for all layers",
		},
		{
			Name: "flow-normalized", Mixing: "attention", Aggregation: "flow", Residual: 0.5, Normalize: true,
			Summary: "flow with every row divided by its sum, as the paper's figures have it",
			Formula: "F_l[t,j] / Σ_k F_l[t,k]", Paper: "Abnar and Zuidema 2020, §3",
			Cost: "as flow; nothing more beside it",
		},
		{
			Name: "value-zeroing", Mixing: "value-zeroing", Aggregation: "layer",
			Summary: "how far the output of one layer moves without each source's value vector, as shares",
			Formula: "C_l[t,j] = rownorm(dist(x̃_t without v_j, x̃_t))", Paper: "Mohebbi et al. 2023, §3",
			Cost: "one more evaluation of the rest of a block for each source, in every layer",
		},
		{
			Name: "value-zeroing-rollout", Mixing: "value-zeroing", Aggregation: "rollout",
			Summary: "value zeroing followed through all layers; the residual is in its rows already",
			Formula: "R_l = C_l R_{l-1}, no identity added", Paper: "Mohebbi et al. 2023, §3",
			Cost: "as value-zeroing, and before the first token T²/2 evaluations a layer for the prompt's rows",
		},
	} {
		RegisterMethod(m)
	}
}
