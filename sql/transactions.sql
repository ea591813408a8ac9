-- Claim: a transaction over any number of shards and local tables ends
-- everywhere in the same way, and leaves nothing prepared behind.
\set VERBOSITY terse
CREATE TABLE s0.tx (id int, v int);
CREATE TABLE s1.tx (id int, v int);
CREATE TABLE tx_local (id int, v int);
CREATE FOREIGN TABLE tx0 (id int, v int) SERVER shard0 OPTIONS (schema_name 's0', table_name 'tx');
CREATE FOREIGN TABLE tx1 (id int, v int) SERVER shard1 OPTIONS (schema_name 's1', table_name 'tx');
CREATE FUNCTION tx_state(which int) RETURNS text LANGUAGE sql AS $$
  SELECT format('s0 %s, s1 %s, local %s', (SELECT count(*) FROM s0.tx WHERE id = which),
    (SELECT count(*) FROM s1.tx WHERE id = which), (SELECT count(*) FROM tx_local WHERE id = which)) $$;
-- how transactions were committed since the last call
CREATE TABLE tx_stat AS SELECT * FROM shard_fdw.stat_transactions;
CREATE FUNCTION tx_methods(OUT method text, OUT commits bigint, OUT rollbacks bigint)
RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT n.method, n.commits - coalesce(o.commits, 0), n.rollbacks - coalesce(o.rollbacks, 0)
    FROM shard_fdw.stat_transactions n LEFT JOIN tx_stat o USING (method)
    WHERE (n.commits, n.rollbacks) IS DISTINCT FROM (o.commits, o.rollbacks) ORDER BY 1;
  DELETE FROM tx_stat;
  INSERT INTO tx_stat SELECT * FROM shard_fdw.stat_transactions;
END $$;
-- one shard: one phase
INSERT INTO tx0 VALUES (1, 0);
BEGIN;
INSERT INTO tx0 VALUES (1, 0);
UPDATE tx0 SET v = 1 WHERE id = 1;
SELECT count(*) FROM tx1;
COMMIT;
SELECT tx_state(1);
SELECT * FROM tx_methods();
-- two shards: two phases
BEGIN;
INSERT INTO tx0 VALUES (2, 0);
INSERT INTO tx1 VALUES (2, 0);
SELECT (SELECT count(*) FROM tx0 WHERE id = 2) + (SELECT count(*) FROM tx1 WHERE id = 2) AS own_rows;
COMMIT;
SELECT tx_state(2);
SELECT * FROM tx_methods();
-- one shard and a local table: two phases
BEGIN;
INSERT INTO tx0 VALUES (3, 0);
INSERT INTO tx_local VALUES (3, 0);
COMMIT;
SELECT tx_state(3);
SELECT * FROM tx_methods();
-- only reads: none, and none again when something local is written
BEGIN;
SELECT count(*) FROM tx0;
SELECT count(*) FROM tx1;
COMMIT;
BEGIN;
SELECT count(*) FROM tx0;
SELECT count(*) FROM tx1;
INSERT INTO tx_local VALUES (4, 0);
COMMIT;
SELECT * FROM tx_methods();
-- what changes nothing on the shard is no write
BEGIN;
UPDATE tx0 SET v = 9 WHERE id = -1;
DELETE FROM tx1 WHERE id = -1;
COMMIT;
SELECT * FROM tx_methods();
-- a SELECT that writes on the shard is one
CREATE FUNCTION s1.tx_write() RETURNS int LANGUAGE sql VOLATILE AS $$
  INSERT INTO s1.tx VALUES (5, 0) RETURNING id $$;
CREATE VIEW s1.tx_view AS SELECT s1.tx_write() AS id;
CREATE FOREIGN TABLE tx_view (id int) SERVER shard1 OPTIONS (schema_name 's1');
BEGIN;
INSERT INTO tx0 VALUES (5, 0);
SELECT * FROM tx_view;
COMMIT;
SELECT tx_state(5);
SELECT * FROM tx_methods();
BEGIN;
SELECT * FROM tx_view;
ROLLBACK;
SELECT tx_state(5);
SELECT * FROM tx_view;
SELECT tx_state(5);
-- rollback
BEGIN;
INSERT INTO tx0 VALUES (6, 0);
INSERT INTO tx1 VALUES (6, 0);
INSERT INTO tx_local VALUES (6, 0);
ROLLBACK;
BEGIN;
INSERT INTO tx0 VALUES (6, 0);
INSERT INTO tx1 VALUES (6, 0);
SELECT 1 / 0;
COMMIT;
SELECT tx_state(6);
-- one shard refuses at COMMIT: each of the two, named first or last
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON s0.tx DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.v = -1) EXECUTE FUNCTION test.refuse();
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON s1.tx DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.v = -1) EXECUTE FUNCTION test.refuse();
BEGIN;
INSERT INTO tx0 VALUES (7, -1);
INSERT INTO tx1 VALUES (7, 0);
INSERT INTO tx_local VALUES (7, 0);
COMMIT;
SELECT tx_state(7);
BEGIN;
INSERT INTO tx_local VALUES (7, 0);
INSERT INTO tx1 VALUES (7, 0);
INSERT INTO tx0 VALUES (7, -1);
COMMIT;
SELECT tx_state(7);
BEGIN;
INSERT INTO tx0 VALUES (7, 0);
INSERT INTO tx1 VALUES (7, -1);
COMMIT;
SELECT tx_state(7);
BEGIN;
INSERT INTO tx1 VALUES (7, -1);
INSERT INTO tx0 VALUES (7, 0);
COMMIT;
SELECT tx_state(7);
-- alone, and in autocommit
INSERT INTO tx0 VALUES (7, -1);
SELECT tx_state(7);
-- the coordinator refuses at COMMIT
CREATE TABLE tx_parent (id int PRIMARY KEY);
CREATE TABLE tx_child (id int REFERENCES tx_parent DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO tx0 VALUES (8, 0);
INSERT INTO tx1 VALUES (8, 0);
INSERT INTO tx_child VALUES (8);
COMMIT;
SELECT tx_state(8);
SELECT test.settled();
-- the session goes on after all that
BEGIN;
INSERT INTO tx0 VALUES (9, 0);
INSERT INTO tx1 VALUES (9, 0);
COMMIT AND CHAIN;
INSERT INTO tx0 VALUES (9, 1);
INSERT INTO tx1 VALUES (9, 1);
ROLLBACK AND CHAIN;
SELECT count(*) FROM tx0 WHERE id = 9;
COMMIT;
SELECT tx_state(9);
-- a procedure that commits
CREATE PROCEDURE tx_proc() LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..4 LOOP
    INSERT INTO tx0 VALUES (10, i);
    INSERT INTO tx1 VALUES (10, i);
    IF i % 2 = 0 THEN
      COMMIT;
    ELSE
      ROLLBACK;
    END IF;
  END LOOP;
END $$;
CALL tx_proc();
SELECT tx_state(10);
-- the user's own PREPARE TRANSACTION
BEGIN;
INSERT INTO tx0 VALUES (11, 0);
INSERT INTO tx1 VALUES (11, 0);
INSERT INTO tx_local VALUES (11, 0);
PREPARE TRANSACTION 'regress_tx11';
SELECT tx_state(11), test.prepared();
COMMIT PREPARED 'regress_tx11';
SELECT test.settled();
SELECT tx_state(11);
BEGIN;
INSERT INTO tx0 VALUES (12, 0);
INSERT INTO tx1 VALUES (12, 0);
PREPARE TRANSACTION 'regress_tx12';
ROLLBACK PREPARED 'regress_tx12';
SELECT test.settled();
SELECT tx_state(12);
BEGIN;
SELECT count(*) FROM tx0 WHERE id = 12;
INSERT INTO tx_local VALUES (12, 0);
PREPARE TRANSACTION 'regress_tx12';
SELECT test.prepared();
COMMIT PREPARED 'regress_tx12';
BEGIN;
INSERT INTO tx0 VALUES (13, -1);
INSERT INTO tx1 VALUES (13, 0);
PREPARE TRANSACTION 'regress_tx13';
SELECT test.settled();
SELECT tx_state(13);
-- READ ONLY reaches the shard
BEGIN READ ONLY;
SELECT count(*) FROM tx0 WHERE id = 9;
INSERT INTO tx0 VALUES (14, 0);
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM tx_view;
ROLLBACK;
BEGIN;
INSERT INTO tx0 VALUES (14, 0);
SAVEPOINT s;
SET TRANSACTION READ ONLY;
INSERT INTO tx0 VALUES (14, 1);
ROLLBACK TO s;
INSERT INTO tx0 VALUES (14, 2);
COMMIT;
SELECT tx_state(14);
-- without two-phase commit each shard commits in one phase
SET shard_fdw.two_phase_commit = off;
SELECT FROM tx_methods() LIMIT 0;
BEGIN;
INSERT INTO tx0 VALUES (15, 0);
INSERT INTO tx1 VALUES (15, 0);
COMMIT;
SELECT tx_state(15);
SELECT * FROM tx_methods();
RESET shard_fdw.two_phase_commit;
-- temporary tables of this session are no obstacle
BEGIN;
CREATE TEMP TABLE tx_temp ON COMMIT DROP AS SELECT 16 AS id;
INSERT INTO tx0 SELECT id, 0 FROM tx_temp;
INSERT INTO tx1 SELECT id, 0 FROM tx_temp;
COMMIT;
SELECT tx_state(16);
-- a cursor that outlives the transaction
BEGIN;
DECLARE tx_hold CURSOR WITH HOLD FOR SELECT id, v FROM tx0 WHERE id = 10 ORDER BY v;
INSERT INTO tx0 VALUES (17, 0);
INSERT INTO tx1 VALUES (17, 0);
COMMIT;
FETCH ALL FROM tx_hold;
CLOSE tx_hold;
SELECT tx_state(17);
SELECT test.settled();
DROP FOREIGN TABLE tx0, tx1, tx_view;
DROP VIEW s1.tx_view;
DROP FUNCTION s1.tx_write();
DROP FUNCTION tx_state(int), tx_methods();
DROP PROCEDURE tx_proc();
DROP TABLE s0.tx, s1.tx, tx_local, tx_stat, tx_child, tx_parent;
