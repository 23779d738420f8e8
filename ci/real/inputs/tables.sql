CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER);
CREATE TABLE orders (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people (id), amount REAL);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO people SELECT i, 'person ' || (i * 7 % 40), 20 + i * 13 % 50 FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
INSERT INTO orders SELECT i, 1 + i * 17 % 40, (i * 31 % 1000) / 8.0 FROM n;
CREATE INDEX by_person ON orders (person);
SELECT name, age FROM people WHERE age > 60 ORDER BY age DESC, name LIMIT 5;
SELECT p.name, count(*), sum(o.amount), round(avg(o.amount), 2)
FROM people p JOIN orders o ON o.person = p.id GROUP BY p.id HAVING count(*) > 3 ORDER BY 3 DESC LIMIT 5;
SELECT age / 10 * 10 AS decade, count(*), group_concat(id, ' ') FROM people GROUP BY decade ORDER BY decade;
SELECT id, amount, sum(amount) OVER (ORDER BY id ROWS 2 PRECEDING) FROM orders LIMIT 4;
EXPLAIN QUERY PLAN SELECT * FROM orders WHERE person = 3;
