// Keeps the notebooks out of the module that a program downloads. Cells use the clone.
module github.com/headwater-ml/headwater/notebooks

go 1.26.5

require github.com/headwater-ml/headwater v0.0.0-00010101000000-000000000000

replace github.com/headwater-ml/headwater => ../
