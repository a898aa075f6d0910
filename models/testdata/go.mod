// Keeps the checkpoints of the tests out of the module that a program downloads. The tests of the
// module read them in a clone.
module github.com/headwater-ml/headwater/models/testdata

go 1.26.5
