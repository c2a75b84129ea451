-- Every result has moved to the tables of migration 4.

-- +goose Up

DROP TABLE histograms;
DROP TABLE host_series;
DROP TABLE series;
DROP TABLE samples;
DROP TABLE outputs;
DROP TABLE old_results;
