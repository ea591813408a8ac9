-- Claim: with shard_fdw.explain_pushdown EXPLAIN names each clause or step that
-- is not left to the shards, and why; without it nothing of that is shown.
\set VERBOSITY terse
CREATE TABLE s0.ep (k int, g int, v text, n numeric);
CREATE TABLE s1.ep (LIKE s0.ep);
CREATE TABLE ep (k int, g int, v text, n numeric) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE ep0 PARTITION OF ep FOR VALUES FROM (0) TO (100)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'ep');
CREATE FOREIGN TABLE ep1 PARTITION OF ep FOR VALUES FROM (100) TO (200)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'ep');
CREATE FOREIGN TABLE ep_other (k int, v text) SERVER shard1 OPTIONS (schema_name 's1', table_name 'ep');
CREATE FOREIGN TABLE ep_same (k int, v text) SERVER shard0 OPTIONS (schema_name 's0', table_name 'ep');
CREATE TABLE ep_local (k int, v text);
CREATE FUNCTION ep_own(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE TYPE ep_type AS ENUM ('a', 'b');
-- what is not pushed in the plan of a statement, each line once
CREATE FUNCTION ep_explain(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  lines text[] := '{}';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
    line := regexp_replace(line, 'SubPlan \w+', 'SubPlan N');
    IF line ~ 'Not Pushed' AND line !~ 'ep1' AND btrim(line) <> ALL (lines) THEN
      lines := lines || btrim(line);
      RETURN NEXT btrim(line);
    END IF;
  END LOOP;
END $$;
SELECT ep_explain('SELECT * FROM ep0 WHERE random() > 0.5');
SET shard_fdw.explain_pushdown = on;
EXPLAIN (COSTS OFF) SELECT * FROM ep0 WHERE random() > 0.5 AND k > 1;
-- all is pushed
SELECT ep_explain('SELECT g, count(*) FROM ep0 WHERE k > 1 GROUP BY g ORDER BY g LIMIT 3');
-- conditions
SELECT ep_explain('SELECT * FROM ep0 WHERE ep_own(k)');
SELECT ep_explain('SELECT * FROM ep0 WHERE to_char(n, ''9'') = v AND k = 2');
SELECT ep_explain('SELECT * FROM ep0 WHERE n::float8::text = v OR quote_ident(v) = v');
SELECT ep_explain('SELECT * FROM ep0 WHERE (v COLLATE "POSIX") > ''a''');
SELECT ep_explain('SELECT * FROM ep0 WHERE v::ep_type = ''a''');
SELECT ep_explain('SELECT * FROM ep0 WHERE k = (SELECT max(k) FROM ep_local WHERE v = ep0.v)');
SELECT ep_explain('SELECT * FROM ep0 WHERE ep0.*::text = v');
-- groups
SELECT ep_explain('SELECT g, count(*) FROM ep0 GROUP BY g HAVING count(*) > random()');
SELECT ep_explain('SELECT g, string_agg(v, '','' ORDER BY k) FROM ep GROUP BY g');
SELECT ep_explain('SELECT ep_own(g), count(*) FROM ep0 GROUP BY 1');
SELECT ep_explain('SELECT g, bool_and(ep_own(k)) FROM ep0 GROUP BY g');
SELECT ep_explain('SELECT g, k, count(*) FROM ep GROUP BY CUBE (g, k)');
SELECT ep_explain('SELECT g, count(*) FROM ep0 WHERE ep_own(k) GROUP BY g');
-- windows and DISTINCT
SELECT ep_explain('SELECT k, rank() OVER (ORDER BY g) FROM ep0');
SELECT ep_explain('SELECT k, rank() OVER (ORDER BY ep_own(g)) FROM ep0');
SELECT ep_explain('SELECT k, rank() OVER (ORDER BY g) FROM ep0 WHERE ep_own(k)');
SELECT ep_explain('SELECT DISTINCT ON (g) g, k FROM ep ORDER BY g, k');
-- joins
SET enable_mergejoin = off;
SELECT ep_explain('SELECT 1 FROM ep_same JOIN ep0 USING (k)');
SELECT ep_explain('SELECT 1 FROM ep0 JOIN ep_other USING (k)');
SELECT ep_explain('SELECT 1 FROM ep0 JOIN ep_local USING (k)');
SELECT ep_explain('SELECT 1 FROM ep_same a LEFT JOIN ep0 b ON a.k = b.k AND ep_own(a.k + b.k)');
SELECT ep_explain('SELECT 1 FROM ep a JOIN ep b ON a.g = b.g');
RESET enable_mergejoin;
-- order and limit
SELECT ep_explain('SELECT * FROM ep0 ORDER BY random()');
SELECT ep_explain('SELECT k FROM ep0 ORDER BY ep_own(k), k LIMIT 3');
SELECT ep_explain('SELECT k FROM ep0 WHERE ep_own(k) LIMIT 3');
SELECT ep_explain('SELECT k, rank() OVER (ORDER BY g) FROM ep LIMIT 3');
-- other formats have a list
CREATE FUNCTION ep_json() RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) SELECT k FROM ep0 WHERE ep_own(k) LIMIT 3' INTO plan;
  RETURN plan #> '{0,Plan,Plans,0,Not Pushed}';
END $$;
SELECT ep_json();
RESET shard_fdw.explain_pushdown;
DROP TABLE ep, s0.ep, s1.ep, ep_local;
DROP FOREIGN TABLE ep_other, ep_same;
DROP FUNCTION ep_explain(text), ep_own(int), ep_json();
DROP TYPE ep_type;
