CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER CHECK (balance >= 0));
CREATE TABLE log (what TEXT);
CREATE TRIGGER noted AFTER UPDATE ON accounts BEGIN
  INSERT INTO log VALUES (printf('%d: %d -> %d', new.id, old.balance, new.balance));
END;
INSERT INTO accounts VALUES (1, 100), (2, 50), (3, 0);
BEGIN;
UPDATE accounts SET balance = balance - 30 WHERE id = 1;
UPDATE accounts SET balance = balance + 30 WHERE id = 2;
COMMIT;
BEGIN;
UPDATE accounts SET balance = balance + 500 WHERE id = 3;
ROLLBACK;
SELECT * FROM accounts;
SELECT * FROM log;
CREATE VIEW rich AS SELECT id FROM accounts WHERE balance >= 70;
SELECT group_concat(id) FROM rich;
DELETE FROM accounts WHERE balance = 0;
SELECT count(*), json_group_array(balance) FROM accounts;
SELECT json_extract('{"a": [1, {"b": 2.5}]}', '$.a[1].b'), upper('abc'), substr('sframe', 2, 3), hex(x'00ff');
WITH RECURSIVE fib (n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM fib WHERE n < 30)
SELECT a FROM fib WHERE n % 10 = 0;
SELECT name FROM sqlite_master ORDER BY name;
