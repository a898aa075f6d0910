package attribution

// What methods cost whose mixing is made of what a token reads from each source.
const (
	normsCost = "a product by the output projection for each source in every layer; over " +
		"64 of them the embedded model takes twice as long for a token"
	normsRolloutCost = "as norms, and before the first token T²/2 vectors a layer for the " +
		"prompt's rows"
)

func init() {
	for _, m := range builtinMethods {
		RegisterMethod(m)
	}
}

var builtinMethods = []Method{
	{
		Name: "raw", Mixing: "attention", Aggregation: "layer",
		Summary: "attention of one layer as it is: what the token reads there",
		Formula: "M_l = A_l", Paper: "Abnar and Zuidema 2020, §2",
		Cost: "nothing beyond generating",
	},
	{
		Name: "rollout", Mixing: "attention", Aggregation: "rollout", Residual: 0.5,
		Summary: "attention followed through all layers: how much of the token comes from " +
			"each input token",
		Formula: "R_l = Â_l R_{l-1}, Â = rownorm((1-r)A + rI), r = ½",
		Paper:   "Abnar and Zuidema 2020, §3",
		Cost:    "L·T² multiplications a token, about nothing beside the model",
	},
	{
		Name: "flow", Mixing: "attention", Aggregation: "flow", Residual: 0.5,
		Summary: "the most that could reach the token from each input token if attention " +
			"were the width of pipes",
		Formula: "F_l[t,j] = max-flow (l,t)→(0,j), capacities Â = rownorm((1-r)A + rI), r = ½",
		Paper:   "Abnar and Zuidema 2020, §3",
		Cost: "T max-flow problems a token for the top layer, 0.1 to 4 ms at T = 64; 5 to " +
			"30 times that for all layers",
	},
	{
		Name: "flow-normalized", Mixing: "attention", Aggregation: "flow", Residual: 0.5,
		Normalize: true,
		Summary:   "flow with every row divided by its sum, as the paper's figures have it",
		Formula:   "F_l[t,j] / Σ_k F_l[t,k]", Paper: "Abnar and Zuidema 2020, §3",
		Cost: "as flow; nothing more beside it",
	},
	{
		Name: "value-zeroing", Mixing: "value-zeroing", Aggregation: "layer",
		Summary: "how far the output of one layer moves without each source's value vector, " +
			"as shares",
		Formula: "C_l[t,j] = rownorm(dist(x̃_t without v_j, x̃_t))",
		Paper:   "Mohebbi et al. 2023, §3",
		Cost: "one more evaluation of the rest of a block for each source, in the layer " +
			"shown; in every layer for an encoder, or if all layers are asked for",
	},
	{
		Name: "value-zeroing-rollout", Mixing: "value-zeroing", Aggregation: "rollout",
		Summary: "Value Zeroing followed through all layers; the residual is in its rows " +
			"already",
		Formula: "R_l = C_l R_{l-1}, no identity added", Paper: "Mohebbi et al. 2023, §3",
		Cost: "one more evaluation of the rest of a block for each source, in every layer; " +
			"before the first token T²/2 a layer for the prompt's rows",
	},
	{
		Name: "value-zeroing-euclidean", Mixing: "value-zeroing-euclidean",
		Aggregation: "layer",
		Summary: "Value Zeroing by Euclidean distance, which also sees a source that points " +
			"along the output",
		Formula: "C_l[t,j] = rownorm(‖x̃_t without v_j - x̃_t‖)",
		Paper:   "Mohebbi et al. 2023, §3, with the other distance of Inseq",
		Cost:    "as value-zeroing",
	},
	{
		Name: "value-zeroing-final-norm", Mixing: "value-zeroing-final-norm",
		Aggregation: "layer",
		Summary: "Value Zeroing that compares the last layer after the final norm, as the " +
			"head sees it",
		Formula: "C_L[t,j] = rownorm(dist(N x̃_t without v_j, N x̃_t)), C_l of the layers " +
			"before the last as value-zeroing",
		Paper: "Mohebbi et al. 2023, §3, as Inseq computes it",
		Cost:  "as value-zeroing",
	},
	{
		Name: "norms", Mixing: "norms", Aggregation: "layer",
		Summary: "how long the vector is that the token reads from each source in one layer, " +
			"as shares",
		Formula: "C_l[t,j] = rownorm(‖Σ_h α^h[t,j] v^h_j W_O^h‖)",
		Paper:   "Kobayashi et al. 2020, §3",
		Cost:    normsCost,
	},
	{
		Name: "norms-residual", Mixing: "norms-residual", Aggregation: "layer",
		Summary: "norms, what the token keeps of itself through the residual included",
		Formula: "C_l[t,j] = rownorm(‖f[t,j] + δ_tj x_t‖), f = Σ_h α^h v^h W_O^h",
		Paper:   "Kobayashi et al. 2021, §3",
		Cost:    normsCost,
	},
	{
		Name: "norms-residual-norm", Mixing: "norms-residual-norm", Aggregation: "layer",
		Summary: "norms-residual after the norm that follows the attention; a pre-norm " +
			"model has none there",
		Formula: "C_l[t,j] = rownorm(‖g(f[t,j] + δ_tj x_t)‖), g(u) = (u - mean u)/σ ⊙ γ with " +
			"the sum's own σ",
		Paper: "Kobayashi et al. 2021, §3",
		Cost:  normsCost,
	},
	{
		Name: "globenc", Mixing: "globenc", Aggregation: "rollout",
		Summary: "norms through residuals and norms of whole blocks, feed-forward parts left " +
			"out, followed through all layers",
		Formula: "R_l = C_l R_{l-1}, C_l[t,j] = rownorm(‖g₂(g(f[t,j] + δ_tj x_t))‖), no " +
			"identity added; g and g₂ where norms stand on the stream",
		Paper: "Modarressi et al. 2022, §3", Cost: normsRolloutCost,
	},
	{
		Name: "alti", Mixing: "alti", Aggregation: "rollout",
		Summary: "how much nearer each source brings every block's attention output, " +
			"followed through all layers",
		Formula: "R_l = C_l R_{l-1}, C_l[t,j] = rownorm(max(0, ‖y‖₁ - ‖y - T_j‖₁)), T_j = " +
			"g(f[t,j] + δ_tj x_t), y = Σ_j T_j without biases",
		Paper: "Ferrando et al. 2022, §3", Cost: normsRolloutCost,
	},
}
