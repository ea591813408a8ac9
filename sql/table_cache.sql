-- Claim: the text of a remote query follows every change of the options and
-- names of a foreign table within the session, and partitions that differ do
-- not get each other's text.
\set VERBOSITY terse
CREATE SCHEMA renamed_before;
CREATE FOREIGN TABLE renamed_before.named (k int, v text, n numeric)
  SERVER shard0;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k, v FROM renamed_before.named WHERE n > 5;
-- options of the table, then of columns
ALTER FOREIGN TABLE renamed_before.named OPTIONS (ADD table_name 'Far');
EXPLAIN (VERBOSE, COSTS OFF) SELECT k, v FROM renamed_before.named WHERE n > 5;
ALTER FOREIGN TABLE renamed_before.named
  ALTER v OPTIONS (ADD column_name 'far v'),
  ALTER n OPTIONS (ADD column_name 'far n');
EXPLAIN (VERBOSE, COSTS OFF) SELECT k, v FROM renamed_before.named WHERE n > 5;
ALTER FOREIGN TABLE renamed_before.named ALTER n OPTIONS (SET column_name 'n2');
EXPLAIN (VERBOSE, COSTS OFF) SELECT k, v FROM renamed_before.named WHERE n > 5;
-- local names, where no option hides them
ALTER FOREIGN TABLE renamed_before.named RENAME k TO key;
ALTER SCHEMA renamed_before RENAME TO renamed_after;
EXPLAIN (VERBOSE, COSTS OFF) SELECT key, v FROM renamed_after.named WHERE n > 5;
ALTER FOREIGN TABLE renamed_after.named OPTIONS (DROP table_name);
ALTER FOREIGN TABLE renamed_after.named RENAME TO named_again;
EXPLAIN (VERBOSE, COSTS OFF)
  SELECT key, v FROM renamed_after.named_again WHERE n > 5;
-- columns that come and go
ALTER FOREIGN TABLE renamed_after.named_again DROP v, ADD w int;
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM renamed_after.named_again WHERE w = 1;
-- what a rolled back change said is forgotten
BEGIN;
ALTER FOREIGN TABLE renamed_after.named_again ALTER w OPTIONS (column_name 'x');
EXPLAIN (VERBOSE, COSTS OFF) SELECT w FROM renamed_after.named_again;
ROLLBACK;
EXPLAIN (VERBOSE, COSTS OFF) SELECT w FROM renamed_after.named_again;
-- options of the server: is a changed value used at once?
CREATE FUNCTION startup_cost() RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM renamed_after.named_again' INTO plan;
  RETURN plan->0->'Plan'->>'Startup Cost';
END $$;
SELECT startup_cost();
ALTER SERVER shard0 OPTIONS (ADD fdw_startup_cost '123');
SELECT startup_cost();
ALTER SERVER shard0 OPTIONS (DROP fdw_startup_cost);
SELECT startup_cost();
DROP FUNCTION startup_cost;
-- partitions that name a column alike, otherwise, or have it elsewhere
CREATE TABLE differing (k int, n int) PARTITION BY LIST (k);
CREATE FOREIGN TABLE differing1 PARTITION OF differing FOR VALUES IN (1)
  SERVER shard0 OPTIONS (table_name 't1');
CREATE FOREIGN TABLE differing2 PARTITION OF differing FOR VALUES IN (2)
  SERVER shard0 OPTIONS (table_name 't2');
ALTER FOREIGN TABLE differing2 ALTER n OPTIONS (column_name 'other');
CREATE FOREIGN TABLE differing3 (gone int, n int, k int)
  SERVER shard0 OPTIONS (table_name 't3');
ALTER FOREIGN TABLE differing3 DROP gone;
ALTER TABLE differing ATTACH PARTITION differing3 FOR VALUES IN (3);
EXPLAIN (VERBOSE, COSTS OFF)
  SELECT k FROM differing WHERE n + k > 5 AND n < 9;
DROP SCHEMA renamed_after CASCADE;
DROP TABLE differing;
