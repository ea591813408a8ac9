-- Claim: a query whose rest nobody wants is stopped on the shard, and the
-- connection is usable at once; what the transaction wrote there stays.
\set VERBOSITY terse
-- a hundred rows at once, then one each second
CREATE FUNCTION s0.stop_wait(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS
  $$ BEGIN IF i > 100 THEN PERFORM pg_sleep(1); END IF; RETURN i; END $$;
CREATE VIEW s0.stop_slow AS
  SELECT s0.stop_wait(i) AS i, repeat('x', 1000) AS t FROM generate_series(1, 1000) i;
CREATE FOREIGN TABLE stop_slow (i int, t text) SERVER shard0 OPTIONS (schema_name 's0');
CREATE TABLE s0.stop_log (i int);
CREATE FOREIGN TABLE stop_log (i int) SERVER shard0 OPTIONS (schema_name 's0');
CREATE FUNCTION stop_first() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  row record;
BEGIN
  FOR row IN SELECT * FROM stop_slow LOOP
    RETURN row.i;
  END LOOP;
END $$;
SET statement_timeout = '60s';
-- alone
SELECT i FROM stop_slow LIMIT 1;
SELECT stop_first();
SELECT EXISTS (SELECT FROM stop_slow);
SELECT * FROM stop_log;
-- in a block: the shard's is replaced by another one
BEGIN;
DECLARE c CURSOR FOR SELECT i FROM stop_slow;
FETCH 2 FROM c;
CLOSE c;
SELECT * FROM stop_log;
SELECT stop_first();
INSERT INTO stop_log VALUES (1);
COMMIT;
SELECT * FROM stop_log;
-- where that would exchange the snapshot, at the end
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE c CURSOR FOR SELECT i FROM stop_slow;
FETCH 2 FROM c;
COMMIT;
SELECT * FROM stop_log;
-- on the way out of an error
BEGIN;
DECLARE c CURSOR FOR SELECT i FROM stop_slow;
FETCH 2 FROM c;
SELECT 1 / 0;
ROLLBACK;
SELECT * FROM stop_log;
-- nothing runs on
SELECT count(*) FROM pg_stat_activity
  WHERE datname = current_database() AND state = 'active' AND query LIKE '%stop_slow%'
    AND pid <> pg_backend_pid();
-- a statement that wrote before it was given up is read to its end
CREATE FUNCTION s0.stop_write(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS
  $$ BEGIN INSERT INTO s0.stop_log VALUES (i); RETURN i; END $$;
CREATE VIEW s0.stop_writer AS
  SELECT s0.stop_write(i) AS i, repeat('x', 1000) AS t FROM generate_series(2, 1001) i;
CREATE FOREIGN TABLE stop_writer (i int, t text) SERVER shard0 OPTIONS (schema_name 's0');
BEGIN;
DECLARE c CURSOR FOR SELECT i, t FROM stop_writer;
MOVE 2 FROM c;
CLOSE c;
COMMIT;
SELECT count(*) >= 3 AS kept FROM stop_log;
DROP FOREIGN TABLE stop_slow, stop_log, stop_writer;
DROP VIEW s0.stop_slow, s0.stop_writer;
DROP TABLE s0.stop_log;
DROP FUNCTION stop_first(), s0.stop_wait(int), s0.stop_write(int);
