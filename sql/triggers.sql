-- Claim: triggers on foreign tables see the right old and new rows and may
-- change or suppress them; triggers of the remote table do their work on the
-- shard, and counts and RETURNING show what really happened.
\set VERBOSITY terse
CREATE TABLE s0.tr (id int, a int, b text, stamp text);
CREATE FOREIGN TABLE tr (id int, a int, b text, stamp text)
  SERVER shard0 OPTIONS (schema_name 's0');
INSERT INTO s0.tr VALUES (1, 1, 'x', NULL), (2, 2, 'y', NULL), (3, 3, 'skip', NULL);
CREATE FUNCTION tr_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.b = 'skip' THEN
    RETURN NULL;
  END IF;
  NEW.stamp := format('%s>%s', OLD.a, NEW.a);
  RETURN NEW;
END $$;
CREATE FUNCTION tr_show() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % %: old %, new %', TG_WHEN, TG_LEVEL, TG_OP,
    CASE WHEN TG_OP <> 'INSERT' THEN OLD::text END,
    CASE WHEN TG_OP <> 'DELETE' THEN NEW::text END;
  RETURN coalesce(NEW, OLD);
END $$;
CREATE FUNCTION tr_say() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % %', TG_WHEN, TG_LEVEL, TG_OP;
  RETURN NULL;
END $$;
-- a BEFORE trigger changes a column the statement does not name
CREATE TRIGGER before_update BEFORE UPDATE ON tr FOR EACH ROW EXECUTE FUNCTION tr_before();
UPDATE tr SET a = a + 10;
\echo :ROW_COUNT
UPDATE tr SET b = 'z' WHERE id = 1 RETURNING *;
SELECT * FROM s0.tr ORDER BY id;
-- AFTER triggers see whole rows
CREATE TRIGGER after_any AFTER INSERT OR UPDATE OR DELETE ON tr FOR EACH ROW EXECUTE FUNCTION tr_show();
INSERT INTO tr (id, a) VALUES (4, 4);
INSERT INTO tr (id, a) VALUES (5, 5), (6, 6) RETURNING id;
UPDATE tr SET a = 40 WHERE id = 4;
UPDATE tr SET a = 0 WHERE id = 3;
DELETE FROM tr WHERE id >= 4;
\echo :ROW_COUNT
-- WHEN conditions and column lists
DROP TRIGGER before_update ON tr;
DROP TRIGGER after_any ON tr;
CREATE TRIGGER after_a AFTER UPDATE OF a ON tr FOR EACH ROW
  WHEN (NEW.a IS DISTINCT FROM OLD.a) EXECUTE FUNCTION tr_show();
UPDATE tr SET b = b || '1';
UPDATE tr SET a = a WHERE id = 1;
UPDATE tr SET a = a + 1 WHERE id = 2;
DROP TRIGGER after_a ON tr;
-- a BEFORE INSERT trigger, with COPY and with many rows
CREATE FUNCTION tr_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.a < 0 THEN
    RETURN NULL;
  END IF;
  NEW.stamp := 'inserted';
  RETURN NEW;
END $$;
CREATE TRIGGER before_insert BEFORE INSERT ON tr FOR EACH ROW EXECUTE FUNCTION tr_insert();
INSERT INTO tr VALUES (10, 10), (11, -11), (12, 12);
\echo :ROW_COUNT
COPY tr FROM STDIN WITH (FORMAT csv);
13,13,,
14,-14,,
\.
\echo :ROW_COUNT
SELECT id, stamp FROM s0.tr WHERE id >= 10 ORDER BY id;
DROP TRIGGER before_insert ON tr;
DELETE FROM tr WHERE id >= 10;
-- triggers of the remote table
CREATE FUNCTION s0.tr_remote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.b LIKE 'keep%' THEN
      RETURN NULL;
    END IF;
    RETURN OLD;
  END IF;
  IF NEW.a < 0 THEN
    RETURN NULL;
  END IF;
  NEW.stamp := 'remote';
  RETURN NEW;
END $$;
CREATE TRIGGER remote BEFORE INSERT OR UPDATE OR DELETE ON s0.tr FOR EACH ROW EXECUTE FUNCTION s0.tr_remote();
INSERT INTO tr VALUES (5, -1, 'no', NULL), (6, 1, 'keep', NULL), (7, -1, 'no', NULL);
\echo :ROW_COUNT
INSERT INTO tr VALUES (8, 8, 'eight', 'mine'), (9, -9, 'nine', 'mine') RETURNING id, stamp;
UPDATE tr SET a = -a WHERE id IN (6, 8);
\echo :ROW_COUNT
UPDATE tr SET a = -a WHERE test.here(id IN (6, 8));
\echo :ROW_COUNT
UPDATE tr SET a = a * 2 WHERE id = 6 RETURNING id, a, stamp;
UPDATE tr SET a = a * 2 WHERE test.here(id = 8) RETURNING id, a, stamp;
DELETE FROM tr WHERE id IN (6, 8);
\echo :ROW_COUNT
-- both together
CREATE TRIGGER before_update BEFORE UPDATE ON tr FOR EACH ROW EXECUTE FUNCTION tr_before();
CREATE TRIGGER after_any AFTER INSERT OR UPDATE OR DELETE ON tr FOR EACH ROW EXECUTE FUNCTION tr_show();
UPDATE tr SET a = 77 WHERE id = 6 RETURNING *;
DROP TRIGGER before_update ON tr;
DROP TRIGGER after_any ON tr;
DROP TRIGGER remote ON s0.tr;
-- statement level
CREATE TRIGGER st_before BEFORE INSERT OR UPDATE OR DELETE ON tr FOR EACH STATEMENT EXECUTE FUNCTION tr_say();
CREATE TRIGGER st_after AFTER INSERT OR UPDATE OR DELETE ON tr FOR EACH STATEMENT EXECUTE FUNCTION tr_say();
INSERT INTO tr VALUES (20, 20);
UPDATE tr SET a = 21 WHERE id = 20;
DELETE FROM tr WHERE id = 999;
DROP TRIGGER st_before ON tr;
DROP TRIGGER st_after ON tr;
-- an error in a local AFTER trigger takes the remote row back
CREATE FUNCTION tr_boom() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'not today';
END $$;
CREATE TRIGGER boom AFTER INSERT ON tr FOR EACH ROW EXECUTE FUNCTION tr_boom();
INSERT INTO tr VALUES (50, 50, 'fifty', NULL);
SELECT count(*) FROM s0.tr WHERE id = 50;
DROP TRIGGER boom ON tr;
-- a local trigger that writes to another shard: both or none
CREATE TABLE s1.tr_log (id int CHECK (id <> 61));
CREATE FOREIGN TABLE tr_log (id int) SERVER shard1 OPTIONS (schema_name 's1');
CREATE FUNCTION tr_other() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tr_log VALUES (NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER other AFTER INSERT ON tr FOR EACH ROW EXECUTE FUNCTION tr_other();
INSERT INTO tr VALUES (60, 60);
INSERT INTO tr VALUES (61, 61);
SELECT (SELECT count(*) FROM s0.tr WHERE id IN (60, 61)) AS s0, (SELECT count(*) FROM s1.tr_log) AS s1;
-- a trigger that reads the table it is for
CREATE FUNCTION tr_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT count(*) INTO NEW.a FROM tr WHERE id >= 70;
  RETURN NEW;
END $$;
DROP TRIGGER other ON tr;
CREATE TRIGGER counts BEFORE INSERT ON tr FOR EACH ROW EXECUTE FUNCTION tr_count();
INSERT INTO tr (id) SELECT generate_series(70, 73);
SELECT count(*), bool_and(a BETWEEN 0 AND 3) AS plausible FROM s0.tr WHERE id >= 70;
-- transition tables do not exist for foreign tables
CREATE TRIGGER tt AFTER INSERT ON tr REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION tr_say();
-- a trigger of one partition is no matter of another
CREATE TABLE tr_parts (id int, a int) PARTITION BY LIST (a);
CREATE TABLE s0.tr_part0 (id int, a int);
CREATE TABLE s1.tr_part1 (id int, a int);
CREATE FOREIGN TABLE tr_part0 PARTITION OF tr_parts FOR VALUES IN (0) SERVER shard0 OPTIONS (schema_name 's0');
CREATE FOREIGN TABLE tr_part1 PARTITION OF tr_parts FOR VALUES IN (1) SERVER shard1 OPTIONS (schema_name 's1');
CREATE TRIGGER shows AFTER DELETE ON tr_part1 FOR EACH ROW EXECUTE FUNCTION tr_show();
INSERT INTO tr_parts SELECT i, i % 2 FROM generate_series(1, 6) i;
DELETE FROM tr_parts WHERE test.here(id < 3);
DELETE FROM tr_parts WHERE test.here(id = 3) RETURNING id;
DELETE FROM tr_parts;
DROP TABLE tr_parts, s0.tr_part0, s1.tr_part1;
SELECT test.settled();
DROP FOREIGN TABLE tr, tr_log;
DROP TABLE s0.tr, s1.tr_log;
DROP FUNCTION tr_before, tr_show, tr_say, tr_insert, s0.tr_remote, tr_boom, tr_other, tr_count;
