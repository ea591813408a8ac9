-- Claim: the value of a key goes to the shard as a parameter, so that the
-- shard can keep the plan; a column whose values may be repeated keeps the
-- constant in the text.  The rows are the same either way.
\set VERBOSITY terse
CREATE TYPE s0.mood AS ENUM ('sad', 'glad', 'mad');
CREATE TABLE s0.kp (id int8 PRIMARY KEY, small int2, plain int4, price numeric,
  name text, code varchar(20), tag text COLLATE "C", uid uuid, born date,
  status text, feeling s0.mood);
INSERT INTO s0.kp SELECT i, i, i, i / 10.0, 'name ' || i, 'code ' || i,
    'tag ' || i, format('00000000-0000-0000-0000-%s', lpad(i::text, 12, '0'))::uuid,
    '2000-01-01'::date + i, CASE WHEN i % 10 = 0 THEN 'open' ELSE 'done' END, 'glad'
  FROM generate_series(1, 300) i;
UPDATE s0.kp SET feeling = 'mad' WHERE id = 7;
CREATE FOREIGN TABLE kp (id int8, small int2, plain int4, price numeric,
  name text, code varchar(20), tag text COLLATE "C", uid uuid, born date,
  status text, feeling text)
  SERVER shard0 OPTIONS (schema_name 's0');
CREATE FUNCTION remote_sql(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
    IF line ~ 'Remote SQL:' THEN
      RETURN regexp_replace(line, '.*(WHERE|SET) ', '');
    END IF;
  END LOOP;
END $$;
CREATE FUNCTION remote_plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  plan text := '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
    plan := plan || line || E'\n';
  END LOOP;
  RETURN plan;
END $$;
-- nothing is known of the columns
SELECT remote_sql('SELECT * FROM kp WHERE id = 42');
ANALYZE kp;
SELECT remote_sql('SELECT * FROM kp WHERE id = 42');
SELECT remote_sql('SELECT * FROM kp WHERE 42::int8 = id');
SELECT remote_sql('SELECT * FROM kp WHERE small = 42::int2');
SELECT remote_sql('SELECT * FROM kp WHERE small = 42');
SELECT remote_sql('SELECT * FROM kp WHERE plain = 42');
SELECT remote_sql('SELECT * FROM kp WHERE price = 4.2');
SELECT remote_sql($$SELECT * FROM kp WHERE name = 'it''s'$$);
SELECT remote_sql($$SELECT * FROM kp WHERE code = 'code 4'$$);
SELECT remote_sql($$SELECT * FROM kp WHERE tag = 'tag 4'$$);
SELECT remote_sql($$SELECT * FROM kp WHERE tag = 'tag 4' COLLATE "POSIX"$$);
SELECT remote_sql($$SELECT * FROM kp WHERE name = 'name 4' COLLATE "C"$$);
SELECT remote_sql($$SELECT * FROM kp
  WHERE uid = '00000000-0000-0000-0000-000000000004'$$);
-- its text depends on settings
SELECT remote_sql($$SELECT * FROM kp WHERE born = '2000-01-05'$$);
-- values that are there more than once, and what is no equality
SELECT remote_sql($$SELECT * FROM kp WHERE status = 'open'$$);
SELECT remote_sql($$SELECT * FROM kp WHERE feeling = 'mad'$$);
SELECT remote_sql($$SELECT * FROM kp WHERE id > 42 AND id IN (1, 2)$$);
SELECT remote_sql($$SELECT * FROM kp WHERE id = 42 OR plain = 7$$);
SELECT remote_sql($$SELECT * FROM kp WHERE id = 42 AND status = 'open'$$);
-- the rows, often enough for the shard to keep a plan
SELECT count(*), min(id) FROM kp WHERE id = 42;
SELECT id FROM kp WHERE id = 1 AND plain = 1 AND price = 0.1 AND small = 1;
SELECT id FROM kp WHERE name = 'name 4' AND code = 'code 4' AND tag = 'tag 4';
SELECT id FROM kp WHERE uid = '00000000-0000-0000-0000-000000000004';
SELECT id FROM kp WHERE small = 40000;
SELECT id FROM kp WHERE price = 'NaN';
DO $$
DECLARE
  found int8;
  i int;
BEGIN
  FOR i IN 1..20 LOOP
    EXECUTE format('SELECT plain FROM kp WHERE id = %s', i) INTO found;
    ASSERT found = i;
    EXECUTE format('SELECT plain FROM kp WHERE name = ''name %s''', i) INTO found;
    ASSERT found = i;
  END LOOP;
END $$;
-- is one statement used for all of them?
CREATE FOREIGN TABLE kp_statements (statement text, generic_plans int8,
  custom_plans int8)
  SERVER shard0 OPTIONS (schema_name 'pg_catalog',
                         table_name 'pg_prepared_statements');
SELECT count(*) AS prepared, sum(generic_plans + custom_plans) AS uses
  FROM kp_statements WHERE statement LIKE '%WHERE (r1.name = $1)';
DROP FOREIGN TABLE kp_statements;
-- through a cursor
BEGIN;
DECLARE c CURSOR FOR SELECT name, price FROM kp WHERE id = 42;
FETCH c;
COMMIT;
-- changes
SELECT remote_sql('UPDATE kp SET status = ''seen'' WHERE id = 42');
UPDATE kp SET status = 'seen' WHERE id = 42;
SELECT remote_sql('DELETE FROM kp WHERE id = 43');
DELETE FROM kp WHERE id = 43 RETURNING id, name;
SELECT id, status FROM kp WHERE id BETWEEN 41 AND 44 ORDER BY id;
-- new values: constants go as parameters, but for NULL and booleans
CREATE FUNCTION remote_set(query text) RETURNS text LANGUAGE sql AS $$
  SELECT regexp_replace(query_plan, '.* SET (.*) WHERE.*', '\1')
  FROM regexp_split_to_table(remote_plan(query), '\n') query_plan
  WHERE query_plan ~ 'Remote SQL:' $$;
SELECT remote_set('UPDATE kp SET plain = plain * 2 + 5, price = 1.5,
  small = NULL, born = ''2024-02-29'' WHERE id = 42');
SELECT remote_set($$UPDATE kp SET plain = plain + 5, code = name || 'x',
  tag = upper('y'||tag) WHERE id = 42$$);
SELECT remote_set($$UPDATE kp SET price = extract(day FROM born) + 1,
  plain = CASE WHEN small > 3 THEN 1 ELSE 2 END,
  name = (small > 3 AND true)::text WHERE id = 42$$);
SET datestyle = 'German, DMY';
SET extra_float_digits = -5;
UPDATE kp SET plain = plain * 2 + 5, price = 1.5, small = NULL,
  born = '2024-02-29', name = 'it''s \', code = 'c', tag = tag || '?'
  WHERE id = 42;
RESET datestyle;
RESET extra_float_digits;
UPDATE kp SET price = extract(day FROM born) + 1,
  plain = CASE WHEN small > 3 THEN 1 ELSE 2 END WHERE id = 41;
SELECT id, small, plain, price, name, code, tag, born FROM kp
  WHERE id IN (41, 42) ORDER BY id;
UPDATE kp SET code = 'too long for this column of the shard' WHERE id = 42;
UPDATE kp SET feeling = 'sad' WHERE id = 42;
UPDATE kp SET feeling = 'said' WHERE id = 42;
SELECT id FROM kp WHERE feeling = 'sad';
UPDATE kp SET name = 'same', code = 'same', tag = 'same' WHERE id = 42;
UPDATE kp SET feeling = 'mad', code = 'mad' WHERE id = 42 AND name = 'same';
SELECT feeling, name, code, tag FROM kp WHERE id = 42 AND name = 'same';
SELECT id FROM kp WHERE id = 5 AND name = '5';
SET plan_cache_mode = force_generic_plan;
PREPARE feel(text) AS UPDATE kp SET feeling = $1, name = $1 WHERE id = 42;
EXECUTE feel('sad');
EXECUTE feel('glad');
SELECT feeling, name FROM kp WHERE id = 42;
EXECUTE feel(NULL);
SELECT feeling, name FROM kp WHERE id = 42;
DEALLOCATE feel;
RESET plan_cache_mode;
UPDATE kp SET feeling = NULL, code = NULL, tag = NULL WHERE id = 42;
SELECT feeling, name, code, tag FROM kp WHERE id = 42;
SELECT id FROM kp WHERE feeling IS NULL;
-- a column of another type there
UPDATE s0.kp SET feeling = 'sad';
ALTER TABLE s0.kp ALTER feeling TYPE text;
UPDATE s0.kp SET feeling = id;
ANALYZE kp;
SELECT remote_sql($$SELECT id FROM kp WHERE feeling = '7'$$);
SELECT id FROM kp WHERE feeling = '7';
SELECT id FROM kp WHERE feeling = '8';
SELECT id FROM kp WHERE feeling = '9';
ALTER TABLE s0.kp ALTER feeling TYPE int USING feeling::int;
SELECT id FROM kp WHERE feeling = '7';
SELECT id FROM kp WHERE feeling = '8';
SELECT id FROM kp WHERE feeling = '9';
ALTER TABLE s0.kp ALTER feeling TYPE text USING 'number ' || feeling;
SELECT id FROM kp WHERE feeling = 'number 7';
SELECT id FROM kp WHERE feeling = 'number 8';
SELECT id FROM kp WHERE feeling = 'number 9';
-- partitions: what the whole table's statistics say counts for them
CREATE TABLE kp_all (id int8, v text) PARTITION BY LIST (id);
CREATE TABLE s0.kp_part (id int8, v text);
INSERT INTO s0.kp_part SELECT 1, 'v' || i FROM generate_series(1, 100) i;
CREATE FOREIGN TABLE kp_part1 PARTITION OF kp_all FOR VALUES IN (1)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'kp_part');
ANALYZE kp_all;
DELETE FROM pg_statistic WHERE starelid = 'kp_part1'::regclass;
SELECT remote_sql($$SELECT * FROM kp_all WHERE v = 'v7' AND id = 1$$);
SELECT remote_sql($$SELECT count(*) FROM kp_all a JOIN kp_all b USING (id)
  WHERE a.v = 'v7' AND b.v = 'v8'$$);
SELECT count(*) FROM kp_all a JOIN kp_all b USING (id)
  WHERE a.v = 'v7' AND b.v = 'v8';
SELECT a.v FROM kp_all a WHERE v = 'v9' AND
  EXISTS (SELECT FROM kp_all b WHERE b.id = a.id AND b.v = 'v3');
DROP TABLE kp_all;
DROP FOREIGN TABLE kp;
DROP FUNCTION remote_sql;
DROP TABLE s0.kp, s0.kp_part;
DROP TYPE s0.mood;
