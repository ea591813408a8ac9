-- Claim: a foreign row has the system columns that a user of postgres_fdw
-- sees: tableoid of the foreign table, ctid of the row on the shard, and zeros,
-- whatever else travels in their place to name a row that is to be changed.
\set VERBOSITY terse
CREATE TABLE s0.sy (k int, v text);
INSERT INTO s0.sy VALUES (1, 'a'), (2, 'b');
CREATE TABLE sy (k int, v text) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE sy0 PARTITION OF sy FOR VALUES FROM (0) TO (100)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'sy');
SELECT xmin FROM sy0;
SELECT xmax, k FROM sy0 ORDER BY k;
SELECT cmin, cmax FROM sy0 WHERE k = 1;
SELECT tableoid::regclass, ctid, xmin, cmin, xmax, cmax, k FROM sy ORDER BY k;
SELECT a.xmin, b.xmax FROM sy0 a JOIN sy0 b USING (k) ORDER BY k;
SELECT xmax, count(*) FROM sy0 GROUP BY xmax;
SELECT count(*) FROM sy0 WHERE xmin::text <> '0';
SELECT k, xmin FROM sy0 ORDER BY k FOR UPDATE;
-- changes sent whole, and row by row
INSERT INTO sy0 VALUES (3, 'c') RETURNING xmax = 0 AS inserted;
UPDATE sy0 SET v = 'd' WHERE k = 3 RETURNING xmax, cmin, xmin, tableoid::regclass;
UPDATE sy0 SET v = 'e' WHERE test.here(k = 3) RETURNING cmax, xmin, v;
UPDATE sy SET v = q.x::text FROM (SELECT k, xmin AS x FROM sy0) q WHERE q.k = sy.k AND sy.k = 1 RETURNING sy.v, sy.xmin;
DELETE FROM sy0 WHERE test.here(k = 3) RETURNING xmin, xmax, k;
DELETE FROM sy0 WHERE k = 2 RETURNING xmin, xmax, k;
SELECT * FROM s0.sy;
DROP TABLE sy;
DROP TABLE s0.sy;
