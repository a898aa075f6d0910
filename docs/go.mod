// Keeps the documents and their pictures out of the module that a program downloads.
module github.com/headwater-ml/headwater/docs

go 1.26.5
