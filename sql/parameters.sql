-- Claim: values that are known only at run time (parameters of prepared
-- statements, variables of functions, results of subqueries, the time of day)
-- mean the same in a condition that the shard evaluates.
\set VERBOSITY terse
CREATE TYPE par_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE s0.par (k int PRIMARY KEY, n numeric, t text, tz timestamptz, d date,
  a int[], m par_mood, u uuid);
CREATE TABLE s1.par (LIKE s0.par INCLUDING ALL);
CREATE TABLE par (LIKE s0.par) PARTITION BY RANGE (k);
ALTER TABLE par ALTER k DROP NOT NULL;
CREATE FOREIGN TABLE par0 PARTITION OF par FOR VALUES FROM (0) TO (50)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'par');
CREATE FOREIGN TABLE par1 PARTITION OF par FOR VALUES FROM (50) TO (100)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'par');
INSERT INTO par SELECT i, i / 4.0, 'row ' || i, timestamptz '2024-01-01 00:00+00' + i * interval '1 day',
  date '2024-01-01' + i, ARRAY[i, i + 1], (ARRAY['sad', 'ok', 'happy'])[i % 3 + 1]::par_mood,
  ('00000000-0000-0000-0000-0000000000' || lpad(i::text, 2, '0'))::uuid
  FROM generate_series(0, 99) i;
-- every type, with a custom and with a generic plan
PREPARE par_num(numeric) AS SELECT k FROM par WHERE n = $1;
PREPARE par_text(text) AS SELECT k FROM par WHERE t = $1;
PREPARE par_tz(timestamptz) AS SELECT k FROM par WHERE tz = $1;
PREPARE par_date(date) AS SELECT k FROM par WHERE d = $1;
PREPARE par_arr(int[]) AS SELECT k FROM par WHERE a = $1;
PREPARE par_any(int[]) AS SELECT k FROM par WHERE k = ANY ($1) ORDER BY k;
PREPARE par_mood(par_mood) AS SELECT count(*) FROM par WHERE m = $1;
PREPARE par_uuid(uuid) AS SELECT k FROM par WHERE u = $1;
PREPARE par_key(int) AS SELECT k, t FROM par WHERE k = $1;
PREPARE par_two(int, text) AS SELECT k FROM par WHERE k = $1 AND t = $2 OR k = $1 + 50 AND $2 IS NOT NULL ORDER BY k;
PREPARE par_out(int) AS SELECT k, $1 + k AS s FROM par WHERE k < 3 ORDER BY k;
SET plan_cache_mode = force_custom_plan;
EXECUTE par_num(12.25);
EXECUTE par_text('row 7');
EXECUTE par_tz('2024-02-01 00:00+00');
EXECUTE par_date('2024-03-01');
EXECUTE par_arr('{60,61}');
EXECUTE par_any('{1,NULL,51,200}');
EXECUTE par_mood('happy');
EXECUTE par_uuid('00000000-0000-0000-0000-000000000042');
EXECUTE par_key(77);
EXECUTE par_two(5, 'row 5');
EXECUTE par_out(100);
SET plan_cache_mode = force_generic_plan;
EXECUTE par_num(12.25);
EXECUTE par_text('row 7');
EXECUTE par_tz('2024-02-01 00:00+00');
EXECUTE par_date('2024-03-01');
EXECUTE par_arr('{60,61}');
EXECUTE par_any('{1,NULL,51,200}');
EXECUTE par_mood('happy');
EXECUTE par_uuid('00000000-0000-0000-0000-000000000042');
EXECUTE par_key(77);
EXECUTE par_two(5, 'row 5');
EXECUTE par_out(100);
-- NULL finds nothing, and the same plan goes on afterwards
EXECUTE par_num(NULL);
EXECUTE par_key(NULL);
EXECUTE par_any(NULL);
EXECUTE par_two(5, NULL);
EXECUTE par_key(3);
-- styles of this session do not change the value of a parameter
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Kathmandu';
EXECUTE par_tz('01/02/2024 05:45');
EXECUTE par_date('01/03/2024');
RESET datestyle;
RESET timezone;
-- shards are pruned at run time: the plan has both, one is asked
EXPLAIN (COSTS OFF) EXECUTE par_key(77);
RESET plan_cache_mode;
DEALLOCATE ALL;
-- variables of functions
CREATE FUNCTION par_f(low int, high int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  total bigint := 0;
  one record;
BEGIN
  FOR i IN low..high LOOP
    SELECT * INTO one FROM par WHERE k = i;
    total := total + coalesce(one.k, 0);
  END LOOP;
  RETURN total;
END $$;
SELECT par_f(40, 60), (SELECT sum(i) FROM generate_series(40, 60) i);
CREATE FUNCTION par_sql(low int) RETURNS SETOF int LANGUAGE sql AS $$
  SELECT k FROM par WHERE k >= low AND k < low + 2 ORDER BY k $$;
SELECT * FROM par_sql(49);
-- results of subqueries, here and on the same shard
SELECT k FROM par WHERE k = (SELECT 50 + 1);
SELECT k FROM par WHERE n = (SELECT max(n) FROM par0);
SELECT count(*) FROM par WHERE k > (SELECT avg(k) FROM par);
SELECT k FROM par WHERE k = ANY (ARRAY(SELECT g FROM generate_series(48, 51) g)) ORDER BY k;
SELECT g, (SELECT t FROM par WHERE k = g) FROM generate_series(49, 51) g ORDER BY g;
SELECT g, t FROM generate_series(98, 101) g LEFT JOIN LATERAL (SELECT t FROM par WHERE k = g) q ON true ORDER BY g;
-- the time of day is the coordinator's, one and the same everywhere
CREATE TABLE s0.par_now (t timestamptz);
CREATE FOREIGN TABLE par_now (t timestamptz) SERVER shard0 OPTIONS (schema_name 's0');
BEGIN;
INSERT INTO par_now VALUES (now());
SELECT count(*) FROM par_now WHERE t = now();
SELECT count(*) FROM par_now WHERE t <= current_timestamp AND t::date = current_date;
ROLLBACK;
-- who the user is, is the coordinator's matter too
SELECT count(*) FROM par WHERE k = 1 AND current_user = session_user;
-- parameters of changes
PREPARE par_up(text, int) AS UPDATE par SET t = $1 WHERE k = $2 RETURNING k, t;
PREPARE par_del(int[]) AS DELETE FROM par WHERE k = ANY ($1);
PREPARE par_ins(int, par_mood) AS INSERT INTO par (k, m) VALUES ($1, $2) RETURNING k, m;
SET plan_cache_mode = force_generic_plan;
EXECUTE par_up('changed', 3);
EXECUTE par_up('changed', 53);
EXECUTE par_up(NULL, 4);
EXECUTE par_del('{1,51,NULL}');
EXECUTE par_ins(1, 'ok');
EXECUTE par_ins(51, NULL);
RESET plan_cache_mode;
SELECT k, t, m FROM par WHERE k IN (1, 3, 4, 51, 53) ORDER BY k;
DEALLOCATE ALL;
DROP FUNCTION par_f(int, int);
DROP FUNCTION par_sql(int);
DROP FOREIGN TABLE par_now;
DROP TABLE par, s0.par, s1.par, s0.par_now;
DROP TYPE par_mood;
