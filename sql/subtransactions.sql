-- Claim: what is rolled back to a savepoint is rolled back on every shard, what
-- is released stays, whichever savepoint first touched the shard.
\set VERBOSITY terse
CREATE TABLE s0.st (id int PRIMARY KEY, v text);
CREATE TABLE s1.st (id int PRIMARY KEY, v text);
CREATE FOREIGN TABLE st0 (id int, v text) SERVER shard0 OPTIONS (schema_name 's0', table_name 'st');
CREATE FOREIGN TABLE st1 (id int, v text) SERVER shard1 OPTIONS (schema_name 's1', table_name 'st');
CREATE FUNCTION st_state() RETURNS text LANGUAGE sql AS $$
  SELECT format('s0 {%s}, s1 {%s}', (SELECT string_agg(id::text, ' ' ORDER BY id) FROM s0.st),
    (SELECT string_agg(id::text, ' ' ORDER BY id) FROM s1.st)) $$;
-- rolled back, released, and one inside the other
BEGIN;
INSERT INTO st0 VALUES (1, 'kept');
SAVEPOINT a;
INSERT INTO st0 VALUES (2, 'gone');
INSERT INTO st1 VALUES (2, 'gone');
ROLLBACK TO a;
INSERT INTO st0 VALUES (3, 'kept');
SAVEPOINT b;
INSERT INTO st1 VALUES (4, 'kept');
RELEASE b;
SAVEPOINT c;
INSERT INTO st0 VALUES (5, 'gone');
SAVEPOINT d;
INSERT INTO st0 VALUES (6, 'gone');
INSERT INTO st1 VALUES (6, 'gone');
RELEASE d;
ROLLBACK TO c;
SELECT id FROM st0 ORDER BY id;
SELECT id FROM st1 ORDER BY id;
COMMIT;
SELECT st_state();
-- the same savepoint more than once
BEGIN;
SAVEPOINT a;
INSERT INTO st0 VALUES (10, 'gone');
ROLLBACK TO a;
INSERT INTO st0 VALUES (11, 'gone');
ROLLBACK TO a;
INSERT INTO st0 VALUES (12, 'kept');
COMMIT;
SELECT st_state();
-- an error on the shard costs the savepoint, not the transaction
BEGIN;
INSERT INTO st0 VALUES (20, 'kept');
INSERT INTO st1 VALUES (20, 'kept');
SAVEPOINT a;
INSERT INTO st0 VALUES (20, 'again');
SELECT count(*) FROM st1;
ROLLBACK TO a;
SELECT count(*) FROM st0 WHERE id = 20;
SAVEPOINT a;
SELECT 1 / (id - 20) FROM st1 WHERE id = 20;
ROLLBACK TO a;
INSERT INTO st1 VALUES (21, 'kept');
COMMIT;
SELECT st_state();
-- an error of the coordinator while a shard is being read
BEGIN;
INSERT INTO st0 VALUES (22, 'kept');
SAVEPOINT a;
SELECT 1 / (id - 20) FROM st0 WHERE test.here(true) ORDER BY id;
ROLLBACK TO a;
INSERT INTO st0 VALUES (23, 'kept');
COMMIT;
SELECT st_state();
-- exception blocks, nested, with a shard first touched inside
DO $$
BEGIN
  INSERT INTO st0 VALUES (30, 'kept');
  BEGIN
    INSERT INTO st1 VALUES (31, 'gone');
    INSERT INTO st0 VALUES (30, 'again');
  EXCEPTION WHEN unique_violation THEN
    INSERT INTO st1 VALUES (32, 'kept');
  END;
  FOR i IN 33..36 LOOP
    BEGIN
      INSERT INTO st0 VALUES (i, 'kept if even');
      IF i % 2 = 1 THEN
        RAISE EXCEPTION 'odd';
      END IF;
      BEGIN
        INSERT INTO st1 VALUES (i + 10, 'gone');
        PERFORM 1 / 0;
      EXCEPTION WHEN division_by_zero THEN
        NULL;
      END;
    EXCEPTION WHEN raise_exception THEN
      NULL;
    END;
  END LOOP;
END $$;
SELECT st_state();
-- a block that fails without touching a shard, just after one that did; in
-- between the session has waited for the other shard
DO $$
BEGIN
  FOR i IN 1..100 LOOP
    BEGIN
      UPDATE st1 SET v = i WHERE id = 32;
    EXCEPTION WHEN unique_violation THEN
      NULL;
    END;
    PERFORM pg_sleep(0.001);
    BEGIN
      UPDATE st0 SET v = i WHERE id = 30;
      RAISE EXCEPTION 'nothing done on the first shard';
    EXCEPTION WHEN raise_exception THEN
      NULL;
    END;
  END LOOP;
END $$;
SELECT (SELECT v FROM s0.st WHERE id = 30) AS s0, (SELECT v FROM s1.st WHERE id = 32) AS s1;
-- the whole transaction is rolled back after all
BEGIN;
INSERT INTO st0 VALUES (40, 'gone');
SAVEPOINT a;
INSERT INTO st1 VALUES (40, 'gone');
RELEASE a;
ROLLBACK;
SELECT st_state();
-- deep
DO $$
BEGIN
  INSERT INTO st0 VALUES (50, 'kept');
  BEGIN
    INSERT INTO st0 VALUES (51, 'kept');
    BEGIN
      INSERT INTO st0 VALUES (52, 'gone');
      BEGIN
        INSERT INTO st0 VALUES (53, 'gone');
        INSERT INTO st1 VALUES (53, 'gone');
      END;
      RAISE EXCEPTION 'up two levels';
    EXCEPTION WHEN raise_exception THEN
      INSERT INTO st1 VALUES (54, 'kept');
    END;
  END;
END $$;
SELECT st_state();
CREATE VIEW s0.st_many AS SELECT i FROM generate_series(1, 10000) i;
CREATE FOREIGN TABLE st_many (i int) SERVER shard0 OPTIONS (schema_name 's0');
-- a cursor opened before, and one opened inside a savepoint
BEGIN;
DECLARE before CURSOR FOR SELECT id FROM st0 ORDER BY id;
FETCH 1 FROM before;
SAVEPOINT a;
DECLARE inside CURSOR FOR SELECT id FROM st1 ORDER BY id;
FETCH 1 FROM inside;
FETCH 1 FROM before;
SELECT 1 / 0;
ROLLBACK TO a;
FETCH 1 FROM before;
FETCH 1 FROM inside;
ROLLBACK TO a;
INSERT INTO st1 VALUES (60, 'kept');
FETCH 1 FROM before;
COMMIT;
SELECT st_state();
-- a cursor opened before a savepoint and read for the first time in it
BEGIN;
DECLARE before CURSOR FOR SELECT i FROM st_many ORDER BY i;
SAVEPOINT a;
FETCH 1 FROM before;
ROLLBACK TO a;
FETCH 1 FROM before;
MOVE 4000 IN before;
FETCH 1 FROM before;
INSERT INTO st0 VALUES (61, 'gone');
FETCH 1 FROM before;
ROLLBACK;
-- its locks do not survive, so neither does one that locks
BEGIN;
DECLARE locking CURSOR FOR SELECT id FROM st0 WHERE id < 30 FOR UPDATE;
SAVEPOINT a;
FETCH 1 FROM locking;
ROLLBACK TO a;
CLOSE locking;
SELECT count(*) > 0 AS usable FROM st0;
ROLLBACK;
-- the same in a loop that catches what goes wrong
DO $$
DECLARE
  many CURSOR FOR SELECT i FROM st_many ORDER BY i;
  one record;
  nseen int := 0;
  nodd int := 0;
BEGIN
  OPEN many;
  LOOP
    BEGIN
      FETCH many INTO one;
      EXIT WHEN NOT FOUND;
      nseen := nseen + 1;
      IF one.i % 1000 = 1 THEN
        RAISE EXCEPTION 'odd';
      END IF;
    EXCEPTION WHEN raise_exception THEN
      nodd := nodd + 1;
    END;
  END LOOP;
  RAISE NOTICE 'seen %, odd %', nseen, nodd;
END $$;
-- a cursor opened in a savepoint that is released outlives later ones
BEGIN;
SAVEPOINT a;
DECLARE released CURSOR FOR SELECT i FROM st_many ORDER BY i;
RELEASE a;
FETCH 1 FROM released;
SAVEPOINT b;
MOVE 250 IN released;
ROLLBACK TO b;
FETCH 1 FROM released;
MOVE 4000 IN released;
SAVEPOINT c;
FETCH 1 FROM released;
ROLLBACK TO c;
FETCH 2 FROM released;
COMMIT;
-- a scan in a loop that changes what it reads, each change in a block of its own
DO $$
DECLARE
  one record;
BEGIN
  FOR one IN SELECT id FROM st0 WHERE id >= 30 ORDER BY id LOOP
    BEGIN
      UPDATE st0 SET v = 'seen' WHERE id = one.id;
      IF one.id % 2 = 1 THEN
        RAISE EXCEPTION 'odd';
      END IF;
    EXCEPTION WHEN raise_exception THEN
      NULL;
    END;
  END LOOP;
END $$;
SELECT id, v FROM s0.st WHERE id >= 30 ORDER BY id;
-- a failed shard inside a savepoint leaves the commit of the others atomic
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON s1.st DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.v = 'refuse') EXECUTE FUNCTION test.refuse();
BEGIN;
INSERT INTO st0 VALUES (70, 'gone');
SAVEPOINT a;
INSERT INTO st1 VALUES (70, 'refuse');
RELEASE a;
COMMIT;
BEGIN;
INSERT INTO st0 VALUES (71, 'kept');
SAVEPOINT a;
INSERT INTO st1 VALUES (71, 'refuse');
ROLLBACK TO a;
COMMIT;
SELECT st_state();
-- only rolled back work on a shard: it has nothing to commit
BEGIN;
SAVEPOINT a;
INSERT INTO st0 VALUES (80, 'gone');
INSERT INTO st1 VALUES (80, 'gone');
ROLLBACK TO a;
COMMIT;
SELECT st_state();
SELECT test.settled();
-- what is READ ONLY in a savepoint only is not so after it
BEGIN;
SAVEPOINT a;
SET TRANSACTION READ ONLY;
SELECT count(*) >= 0 AS read FROM st0;
ROLLBACK TO a;
INSERT INTO st0 VALUES (60, 'written');
ROLLBACK;
-- a failed statement leaves the count of savepoints right
CREATE VIEW s0.st_fails AS SELECT 1 / (i - 30000) AS v FROM generate_series(1, 60000) i;
CREATE FOREIGN TABLE st_fails (v int) SERVER shard0 OPTIONS (schema_name 's0');
BEGIN;
SELECT count(*) >= 0 AS read FROM st0;
SAVEPOINT a;
SELECT count(*) >= 0 AS read FROM st0;
SAVEPOINT b;
DO $$ DECLARE r record; BEGIN FOR r IN SELECT v FROM st_fails LOOP EXIT; END LOOP; END $$;
RELEASE b;
SELECT count(*) >= 0 AS read FROM st_fails;
ROLLBACK TO a;
SELECT count(*) >= 0 AS read FROM st0;
SAVEPOINT c;
SELECT 1 / 0;
ROLLBACK TO c;
SELECT count(*) >= 0 AS read FROM st0;
ROLLBACK;
DROP FOREIGN TABLE st_fails;
DROP VIEW s0.st_fails;
DROP FOREIGN TABLE st0, st1, st_many;
DROP VIEW s0.st_many;
DROP FUNCTION st_state();
DROP TABLE s0.st, s1.st;
