/** SELECTs of all shapes over the tables below, one per line. */

/** `nameOf` gives every table's name; nothing else changes. */
export function corpusTables(nameOf: (schema: string, name: string) => string): readonly string[] {
  return [
    `CREATE TABLE ${nameOf("main", "t")} AS
       SELECT i::INT AS a, ['x', 'y', 'z', NULL][i % 4 + 1] AS b, i / 3 AS c, (i * 1.25)::DECIMAL(10, 2) AS d,
         TIMESTAMP '2024-01-01' + INTERVAL (i) DAY AS e, [i, i + 1, NULL] AS f, {'x': i, 'y': 'v' || i} AS g,
         MAP {'k': i, 'l': i * 2} AS h, DATE '2024-02-27' + i::INT AS i, i % 2 = 0 AS k
       FROM range(8) r(i)`,
    `CREATE TABLE ${nameOf("main", "u")} AS SELECT i::INT AS a, 'u' || i AS z FROM range(3, 10) r(i)`,
    `CREATE TABLE ${nameOf("s1", "t")} AS SELECT i::INT AS a, 'q' || i AS q FROM range(2, 5) r(i)`,
    `CREATE TABLE ${nameOf("main", "empty")} (a INT, b VARCHAR)`,
    `CREATE TABLE ${nameOf("main", 'my "Table"')} AS SELECT i::INT AS "my col", i * 2 AS "select" FROM range(3) r(i)`,
    `CREATE TABLE ${nameOf("main", "edge")} AS
       SELECT * FROM (VALUES (1, 2), (2, 3), (3, 4), (2, 5), (5, 6)) AS v(src, dst)`,
    `CREATE TABLE ${nameOf("main", "sales")} AS
       SELECT 2020 + i % 3 AS year, ['north', 'south'][i % 2 + 1] AS region, i * 10 AS amount FROM range(12) r(i)`,
  ];
}

export const selectCorpus: readonly string[] = String.raw`
SELECT 1
SELECT 1 AS one, 'two' AS two, NULL, TRUE, 1.5, 1e10, -7
SELECT * FROM t ORDER BY a
FROM t ORDER BY a
FROM t SELECT a, b ORDER BY a
TABLE u
VALUES (1, 'a'), (2, 'b')
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, s)
SELECT a FROM t WHERE a > 3 AND b IS NOT NULL ORDER BY a DESC
SELECT t.a, t.b FROM t
SELECT main.t.a FROM main.t
SELECT main.t.a FROM t ORDER BY main.t.a
SELECT main.t.g.x FROM t
SELECT T.A, t.B FROM T
SELECT x.a FROM t AS x
SELECT x.a FROM t x
SELECT n FROM t AS x(n, m)
SELECT x.n, x.m FROM t x(n, m)
SELECT t.* FROM t
SELECT t.*, u.z FROM t JOIN u ON t.a = u.a
SELECT * EXCLUDE (b, c) FROM t
SELECT * EXCLUDE (t.b) FROM t
SELECT * EXCLUDE (main.t.b) FROM t
SELECT * RENAME (main.t.a AS alpha) FROM main.t
SELECT * EXCLUDE (s1.t.a) FROM t JOIN s1.t ON main.t.a = s1.t.a
SELECT * REPLACE (a + 1 AS a) FROM t
SELECT * RENAME (a AS alpha) FROM t
SELECT * RENAME (t.a AS alpha) FROM t
SELECT t.* EXCLUDE (f, g, h) FROM t
SELECT COLUMNS('a|b') FROM t
SELECT COLUMNS(t.*) FROM t
SELECT COLUMNS(c -> c LIKE 'a%') FROM t
SELECT COLUMNS(lambda c : c LIKE 'a%') FROM t
SELECT max(COLUMNS(* EXCLUDE (f, g, h))) FROM t
SELECT t FROM t WHERE a = 1
SELECT t.g.x, g.y, t.g['x'] FROM t
SELECT f[1], f[1:2], f[-1], h['k'] FROM t
SELECT unnest(f) FROM t ORDER BY ALL
SELECT unnest(g) FROM t
SELECT DISTINCT b FROM t ORDER BY b NULLS FIRST
SELECT DISTINCT ON (b) b, a FROM t ORDER BY b, a
SELECT ALL b FROM t
SELECT count(*) FROM t
SELECT count(*), count(b), count(DISTINCT b), sum(a), avg(a), min(b), max(d) FROM t
SELECT b, count(*) AS n FROM t GROUP BY b ORDER BY n, b
SELECT b, sum(a) FROM t GROUP BY 1 ORDER BY 1
SELECT b, sum(a) FROM t GROUP BY ALL ORDER BY ALL
SELECT b, sum(a) AS s FROM t GROUP BY b HAVING sum(a) > 5 ORDER BY s
SELECT b, k, sum(a) FROM t GROUP BY ROLLUP (b, k) ORDER BY ALL
SELECT b, k, sum(a) FROM t GROUP BY CUBE (b, k) ORDER BY ALL
SELECT b, k, sum(a), grouping(b) FROM t GROUP BY GROUPING SETS ((b), (k), ()) ORDER BY ALL
SELECT sum(a) FILTER (WHERE k) FROM t
SELECT sum(a) FILTER (k) FROM t
SELECT string_agg(b, ',' ORDER BY a DESC) FROM t
SELECT list(a ORDER BY a DESC) FROM t
SELECT array_agg(DISTINCT b ORDER BY b) FROM t
SELECT first(a ORDER BY a), last(a ORDER BY a), any_value(k) FROM t
SELECT arg_max(b, a), arg_min(b, a) FROM t
SELECT quantile_cont(a, 0.5), quantile_cont(a, [0.25, 0.75]), median(a), mode(k) FROM t
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM t
SELECT approx_count_distinct(a) > 0 FROM t
SELECT a, row_number() OVER (ORDER BY a DESC) FROM t ORDER BY a
SELECT a, rank() OVER (PARTITION BY b ORDER BY a), lag(a, 1, -1) OVER (ORDER BY a) FROM t ORDER BY a
SELECT a, sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t ORDER BY a
SELECT a, sum(a) OVER (ORDER BY e RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) FROM t ORDER BY a
SELECT a, sum(a) OVER (ORDER BY k GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM t ORDER BY a
SELECT a, first_value(b IGNORE NULLS) OVER w, nth_value(a, 2) OVER w FROM t WINDOW w AS (PARTITION BY k ORDER BY a) ORDER BY a
SELECT a, count(*) FILTER (WHERE a > 2) OVER (PARTITION BY k) FROM t ORDER BY a
SELECT a, ntile(3) OVER (ORDER BY a), percent_rank() OVER (ORDER BY a), cume_dist() OVER (ORDER BY a) FROM t
SELECT a, b FROM t QUALIFY row_number() OVER (PARTITION BY b ORDER BY a DESC) = 1 ORDER BY a
SELECT a FROM t ORDER BY a LIMIT 3
SELECT a FROM t ORDER BY a LIMIT 3 OFFSET 2
SELECT a FROM t ORDER BY a OFFSET 5
SELECT a FROM t ORDER BY a LIMIT 50%
SELECT a FROM t ORDER BY a LIMIT (SELECT 2)
SELECT a FROM t ORDER BY b DESC NULLS LAST, a ASC
SELECT a FROM t ORDER BY ALL DESC
SELECT t.a, u.z FROM t, u WHERE t.a = u.a ORDER BY 1
SELECT t.a, u.z FROM t INNER JOIN u ON t.a = u.a ORDER BY 1
SELECT t.a, u.z FROM t LEFT JOIN u ON t.a = u.a ORDER BY 1
SELECT t.a, u.z FROM t LEFT OUTER JOIN u USING (a) ORDER BY 1
SELECT t.a, u.a, u.z FROM t RIGHT JOIN u ON t.a = u.a ORDER BY 2
SELECT t.a, u.z FROM t FULL OUTER JOIN u ON t.a = u.a ORDER BY ALL
SELECT a, z FROM t NATURAL JOIN u ORDER BY a
SELECT count(*) FROM t CROSS JOIN u
SELECT t.a FROM t SEMI JOIN u ON t.a = u.a ORDER BY 1
SELECT t.a FROM t ANTI JOIN u USING (a) ORDER BY 1
SELECT t.a, u.a FROM t POSITIONAL JOIN u
SELECT t.a, u.a AS ua FROM t ASOF JOIN u ON t.a >= u.a ORDER BY ALL
SELECT t.a, u.a AS ua FROM t ASOF LEFT JOIN u ON t.a >= u.a ORDER BY ALL
SELECT x.a, y.a FROM t x JOIN t y ON x.a = y.a + 1 ORDER BY 1
SELECT x.a, y.a, z.a FROM t x JOIN t y ON x.a = y.a + 1 JOIN t z ON z.a = y.a + 1 ORDER BY 1
SELECT x.a, t.a FROM t JOIN t x ON x.a = t.a + 2 ORDER BY 1
SELECT main.t.a, s1.t.a FROM main.t JOIN s1.t ON main.t.a = s1.t.a ORDER BY 1
SELECT main.t.a, s1.t.q FROM t JOIN s1.t USING (a) ORDER BY 1
SELECT q FROM s1.t
SELECT t.q FROM s1.t
SELECT s1.t.q FROM s1.t WHERE s1.t.a IN (SELECT main.t.a FROM t)
SELECT b FROM t, (SELECT 1 AS o) AS t ORDER BY a
SELECT "my col", "select" FROM "my ""Table"""
SELECT "my ""Table""".* FROM "my ""Table"""
SELECT "My Table"."my col" FROM "my ""Table""" AS "My Table"
SELECT a FROM t WHERE a IN (SELECT a FROM u) ORDER BY a
SELECT a FROM t WHERE a NOT IN (SELECT a FROM u) ORDER BY a
SELECT a FROM t WHERE a IN (1, 2, 3) ORDER BY a
SELECT a FROM t WHERE (a, b) IN ((1, 'y'), (2, 'q'))
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a) ORDER BY a
SELECT a FROM t WHERE NOT EXISTS (FROM u WHERE u.a = t.a) ORDER BY a
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = main.t.a) ORDER BY a
SELECT a FROM t WHERE a = ANY (SELECT a FROM u) ORDER BY a
SELECT a FROM t WHERE a > ALL (SELECT a FROM s1.t) ORDER BY a
SELECT a FROM t WHERE a = (SELECT max(a) FROM u) OR a = (SELECT min(a) FROM t)
SELECT a, (SELECT z FROM u WHERE u.a = t.a) AS z FROM t ORDER BY a
SELECT a, (SELECT count(*) FROM t AS i WHERE i.b = t.b) AS same FROM t ORDER BY a
SELECT (SELECT list(a ORDER BY a) FROM t) AS l, ARRAY(SELECT a FROM u ORDER BY a) AS m
SELECT * FROM (SELECT a, b FROM t) ORDER BY a
SELECT s.a FROM (SELECT a FROM t WHERE a < 3) s ORDER BY 1
SELECT s.n FROM (SELECT a FROM t) AS s(n) ORDER BY 1
SELECT * FROM t, LATERAL (SELECT u.z FROM u WHERE u.a = t.a) l ORDER BY a
SELECT t.a, l.m FROM t LEFT JOIN LATERAL (SELECT max(u.a) AS m FROM u WHERE u.a < t.a) l ON TRUE ORDER BY 1
SELECT t.a, r.i FROM t, range(t.a) r(i) ORDER BY ALL
SELECT t.a, x FROM t, unnest(t.f) AS n(x) ORDER BY ALL
SELECT * FROM (FROM t SELECT a) ORDER BY 1
SELECT a FROM t UNION SELECT a FROM u ORDER BY a
SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY a
SELECT a FROM t INTERSECT SELECT a FROM u ORDER BY a
SELECT a FROM t EXCEPT SELECT a FROM u ORDER BY a
SELECT k FROM t EXCEPT ALL SELECT TRUE ORDER BY 1
SELECT k FROM t INTERSECT ALL (SELECT TRUE UNION ALL SELECT TRUE)
SELECT a, b FROM t UNION ALL BY NAME SELECT z, a FROM u ORDER BY ALL
(SELECT a FROM t ORDER BY a LIMIT 2) UNION ALL (SELECT a FROM u ORDER BY a DESC LIMIT 2) ORDER BY 1
SELECT a FROM t UNION (SELECT a FROM u EXCEPT SELECT a FROM s1.t) ORDER BY 1
SELECT * FROM (SELECT a FROM t UNION ALL SELECT a FROM u) x ORDER BY a LIMIT 5
WITH c AS (SELECT a FROM t) SELECT * FROM c ORDER BY a
WITH c(n) AS (SELECT a FROM t) SELECT n FROM c ORDER BY n
WITH t AS (SELECT a + 100 AS a FROM t) SELECT * FROM t ORDER BY a
WITH T AS (SELECT a + 100 AS a FROM main.T) SELECT t.a FROM t ORDER BY a
WITH c AS (SELECT * FROM u), u AS (SELECT 7 AS a) SELECT c.a, u.a FROM c, u ORDER BY 1
WITH c AS (SELECT a FROM t), d AS (SELECT a FROM c WHERE a > 2) SELECT * FROM d JOIN u USING (a) ORDER BY a
WITH c AS MATERIALIZED (SELECT a FROM t) SELECT x.a FROM c x JOIN c y USING (a) ORDER BY 1
WITH c AS NOT MATERIALIZED (SELECT a FROM t) SELECT * FROM c ORDER BY 1
WITH u AS (SELECT 5 AS a) SELECT * FROM (WITH u AS (SELECT a + 1 AS a FROM u) SELECT * FROM u), u
WITH u AS (SELECT 5 AS a) SELECT u.a, w.a FROM u, main.u AS w ORDER BY ALL
WITH u AS (SELECT 5 AS a) SELECT a FROM u UNION ALL SELECT a FROM main.u ORDER BY 1
(WITH u AS (SELECT 1 AS a) SELECT a FROM u) UNION ALL SELECT a FROM u ORDER BY 1
SELECT * FROM t WHERE a IN (WITH u AS (SELECT 1 AS a) FROM u)
SELECT (WITH u AS (SELECT 1 AS a) SELECT a FROM u), a FROM u ORDER BY 2
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r
WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT r.src, edge.dst FROM r JOIN edge ON r.dst = edge.src) SELECT * FROM r ORDER BY ALL
WITH RECURSIVE u AS (SELECT a FROM u UNION SELECT a + 1 FROM u WHERE a < 12) SELECT * FROM u ORDER BY 1
WITH RECURSIVE u AS (SELECT a + 1 AS a FROM u) SELECT * FROM u ORDER BY 1
WITH RECURSIVE c AS (SELECT 1 AS a), d AS (SELECT a FROM c UNION ALL SELECT a + 1 FROM d WHERE a < 3) SELECT d.a, c.a FROM d, c ORDER BY 1
WITH RECURSIVE p(a, b) USING KEY (a) AS (SELECT 1, 1 UNION SELECT a, b + 1 FROM p WHERE b < 3) SELECT * FROM p
WITH RECURSIVE p(a, b) USING KEY (a) AS (SELECT 1, 1 UNION SELECT p.a, p.b + 1 FROM p, recurring.p AS q WHERE p.b < 3) SELECT * FROM p
SELECT CASE WHEN a > 3 THEN 'big' WHEN a > 1 THEN 'mid' ELSE 'small' END FROM t ORDER BY a
SELECT CASE b WHEN 'x' THEN 1 ELSE 0 END AS is_x FROM t ORDER BY a
SELECT CAST(a AS VARCHAR), a::DOUBLE, TRY_CAST(b AS INT), a::DECIMAL(8, 3) FROM t ORDER BY a
SELECT coalesce(b, 'none'), nullif(b, 'x'), ifnull(b, '-'), greatest(a, 3), least(a, 3) FROM t ORDER BY a
SELECT a BETWEEN 2 AND 4, a NOT BETWEEN 2 AND 4 FROM t ORDER BY a
SELECT b LIKE 'x%', b NOT LIKE 'x', b ILIKE 'X', b SIMILAR TO '[xy]', b GLOB '*' FROM t ORDER BY a
SELECT b LIKE 'a$%' ESCAPE '$', b NOT ILIKE 'X' FROM t ORDER BY a
SELECT b IS NULL, b IS NOT NULL, k IS TRUE, k IS NOT FALSE, b IS DISTINCT FROM 'x', b IS NOT DISTINCT FROM NULL FROM t ORDER BY a
SELECT NOT k, k AND a > 2, k OR a > 2, NOT (k AND a > 2) FROM t ORDER BY a
SELECT a + 1, a - 1, a * 2, a / 2, a // 2, a % 3, a ** 2, -a, +a, a ^ 2 FROM t ORDER BY a
SELECT a & 1, a | 8, a << 2, a >> 1, ~a, xor(a, 3) FROM t ORDER BY a
SELECT a + (1 - (2 - a)), (a + 1) * (a - 1), -(-a), a - -1 FROM t ORDER BY a
SELECT b || '-' || a, concat(b, a), concat_ws(',', b, a) FROM t ORDER BY a
SELECT upper(b), lower(b), length(b), substring('hello', 2, 3), substring('hello' FROM 2 FOR 3), 'hello'[2:3] FROM t ORDER BY a
SELECT trim('  x '), trim(BOTH 'x' FROM 'xax'), ltrim(' x'), position('b' IN 'abc'), strpos('abc', 'c') FROM t LIMIT 1
SELECT extract(year FROM e), extract('month' FROM e), date_part('day', e), date_trunc('month', e), year(e) FROM t ORDER BY a
SELECT e + INTERVAL 1 DAY, e - INTERVAL '2 hours', e + INTERVAL (a) MONTH, i + 1, e - TIMESTAMP '2024-01-01' FROM t ORDER BY a
SELECT e AT TIME ZONE 'UTC' FROM t ORDER BY a
SELECT DATE '2024-01-01', TIMESTAMP '2024-01-01 12:00:00', TIME '12:00', INTERVAL '1' YEAR, INTERVAL 3 MONTHS
SELECT strftime(e, '%Y-%m'), strptime('2024', '%Y'), epoch_ms(e), make_date(2024, 1, 2) FROM t ORDER BY a
SELECT [1, 2, 3], [a, a + 1], {'a': a, 'b': b}, MAP {'x': a}, (a, b), row(a, b), struct_pack(p := a) FROM t ORDER BY a
SELECT [x * 2 FOR x IN f], [x FOR x IN f IF x > 2] FROM t ORDER BY a
SELECT list_transform(f, x -> x + 1), list_filter(f, x -> x > 2), list_reduce([1, 2], (p, q) -> p + q) FROM t ORDER BY a
SELECT list_transform(f, lambda x : x + a), list_transform(f, lambda x, n : x + n) FROM t ORDER BY a
SELECT list_contains(f, 3), array_length(f), len(f), list_sort(f), f || [9], list_aggregate(f, 'sum') FROM t ORDER BY a
SELECT g.x, struct_extract(g, 'y'), {'n': {'m': a}}.n.m FROM t ORDER BY a
SELECT map_keys(h), map_values(h), map_extract(h, 'k'), cardinality(h) FROM t ORDER BY a
SELECT b.upper(), b.replace('x', 'w').length() FROM t ORDER BY a
SELECT '{"p": [1, {"q": 2}]}'::JSON -> 'p' -> 1 ->> 'q', json_extract('{"p": 1}', '$.p')
SELECT 'it''s', 'a\b', E'tab\there', $$dollar 'quoted'$$, $x$y$x$, 'é😀'
SELECT 'line
break', "a" -- comment
 FROM /* block /* nested */ */ t ORDER BY a
SELECT 9007199254740993, 9223372036854775807, -9223372036854775808, 170141183460469231731687303715884105727
SELECT 0.1, 1.10, 123456789.123456789, 1e-7, 1.7976931348623157e308, 1e999, -1e999
SELECT 1_000, 0.000000000000000000000000000001
SELECT a = 1, a <> 1, a != 1, a < 1, a <= 1, a > 1, a >= 1, a == 1 FROM t ORDER BY a
SELECT #1, a FROM t ORDER BY a
SELECT a AS "weird ""name""", b AS "ünï", c AS "select" FROM t ORDER BY a
SELECT a x, b y FROM t ORDER BY x
SELECT x: a, y: b FROM t ORDER BY 1
SELECT a AS n, n + 1 AS m FROM t WHERE n > 2 ORDER BY m
SELECT * FROM empty
SELECT count(*), sum(a) FROM empty
SELECT a, b FROM empty UNION ALL SELECT a, b FROM t ORDER BY 1
SELECT * FROM range(5)
SELECT * FROM generate_series(1, 10, 3) AS g(n)
SELECT * FROM range(3) r, t WHERE r.range = t.a ORDER BY a
SELECT range, t.a FROM range(3), t ORDER BY ALL LIMIT 5
SELECT * FROM unnest([1, 2, 3]) AS x(n)
SELECT * FROM sales PIVOT (sum(amount) FOR year IN (2020, 2021, 2022)) ORDER BY region
SELECT * FROM sales PIVOT (sum(amount) AS s, count(*) AS n FOR year IN (2020, 2021) GROUP BY region) ORDER BY region
PIVOT sales ON year IN (2020, 2021) USING sum(amount) GROUP BY region ORDER BY region
PIVOT sales ON region IN ('north', 'south') USING max(amount)
FROM (PIVOT sales ON year IN (2020, 2021) USING sum(amount)) ORDER BY ALL
WITH p AS (PIVOT sales ON year IN (2020) USING sum(amount)) SELECT * FROM p ORDER BY ALL
UNPIVOT (SELECT a, d::INT AS d FROM t) ON a, d INTO NAME n VALUE v ORDER BY ALL
SELECT * FROM (SELECT a, d::INT AS d FROM t) UNPIVOT (v FOR n IN (a, d)) ORDER BY ALL
UNPIVOT u ON COLUMNS(* EXCLUDE z)
DESCRIBE t
DESCRIBE SELECT a, b FROM t
SUMMARIZE u
SUMMARIZE SELECT a FROM t
SELECT column_name FROM (DESCRIBE t)
SELECT column_name, min FROM (SUMMARIZE u)
SHOW t
SELECT a FROM t USING SAMPLE 100%
SELECT a FROM t TABLESAMPLE 100 PERCENT (bernoulli) ORDER BY a
SELECT t.a FROM t TABLESAMPLE reservoir(100) ORDER BY a
SELECT main.t.a + 1 AS n FROM t ORDER BY 1
SELECT x.a FROM t AS x WHERE x.a = (SELECT min(main.u.a) FROM u WHERE main.u.a > x.a - 1) ORDER BY 1
SELECT main . t . a FROM main . /* here */ t
SELECT "t"."a", "main"."t"."b" FROM "main"."t" ORDER BY "a"
SELECT t.a FROM
  t -- é😀
  JOIN u
  ON t.a = u.a AND z <> 'é😀' ORDER BY 1
SELECT rowid IS NOT NULL FROM (SELECT 1 AS rowid) ORDER BY 1
SELECT a FROM t ORDER BY (SELECT max(u.a) FROM u WHERE u.a = t.a) NULLS FIRST, a
SELECT a FROM t GROUP BY a HAVING a IN (SELECT a FROM u) ORDER BY a
SELECT t.b, sum(u.a) FROM t JOIN u ON t.a = u.a GROUP BY t.b ORDER BY ALL
SELECT main.t.b, count(*) FROM t GROUP BY main.t.b ORDER BY ALL
SELECT * FROM t JOIN u ON main.t.a = main.u.a ORDER BY 1
SELECT * FROM (t JOIN u USING (a)) JOIN s1.t AS w USING (a) ORDER BY 1
SELECT * FROM t x, (t y JOIN u ON y.a = u.a) WHERE x.a = y.a ORDER BY 1
SELECT count(*) FROM t x, t y, t z WHERE x.a = y.a AND y.a = z.a
SELECT a FROM t WHERE b COLLATE NOCASE = 'X' ORDER BY a
SELECT b COLLATE NOCASE FROM t ORDER BY a
SELECT typeof(a), typeof(d), typeof(f), typeof(g) FROM t LIMIT 1
SELECT a::VARCHAR::INT, (a + 1)::BIGINT::VARCHAR, '7'::INT + 1, CAST('[1]' AS INT[]) FROM t ORDER BY a
SELECT NULL::STRUCT(x INT, y VARCHAR[]), NULL::MAP(VARCHAR, INT), 'a'::ENUM('a', 'b'), NULL::INT[3]
SELECT union_value(n := 1), '101'::BIT, '\xAB'::BLOB, '12:00'::TIMETZ
SELECT if(a > 2, 'y', 'n') FROM t ORDER BY a
SELECT ALL a FROM t WHERE TRUE ORDER BY a
SELECT t.a, count(*) OVER () FROM t WHERE k ORDER BY a
SELECT sum(sum(a)) OVER (ORDER BY b) FROM t GROUP BY b ORDER BY 1
SELECT * FROM (SELECT a, row_number() OVER (PARTITION BY b ORDER BY a) AS n FROM t) WHERE n = 1 ORDER BY a
SELECT a IN (SELECT a FROM u WHERE u.a > t.a - 2) AS p FROM t ORDER BY a
SELECT a FROM t WHERE (SELECT count(*) FROM u WHERE u.a IN (SELECT a FROM s1.t WHERE s1.t.a <= t.a)) > 0 ORDER BY a
SELECT (SELECT (SELECT (SELECT max(a) FROM t))) AS m
SELECT a FROM (SELECT a FROM (SELECT a FROM (SELECT a FROM t))) ORDER BY a
SELECT x.* FROM (SELECT t.*, u.z FROM t LEFT JOIN u USING (a)) x ORDER BY a
SELECT histogram(b) FROM t
SELECT regexp_matches(b, '^x'), regexp_replace(b, 'x', 'w', 'g'), regexp_extract('a1', '([a-z])(\d)', ['l', 'd']) FROM t ORDER BY a
SELECT hash(a) = hash(a), md5(b), sha256('x') FROM t ORDER BY a
SELECT a FROM t WHERE f = [1, 2, NULL] OR g = {'x': 2, 'y': 'v2'} ORDER BY a
SELECT a FROM t WHERE a IN f ORDER BY a
SELECT a FROM t WHERE 3 IN f ORDER BY a
SELECT max(a, 3), min(a, 2), list(a)[1] FROM t
SELECT sum(DISTINCT a % 3), count(DISTINCT (a, b)) FROM t
SELECT count(), count(*) FROM t
SELECT bool_and(k), bool_or(k), stddev(a), corr(a, c), covar_pop(a, c), regr_slope(a, c) FROM t
SELECT epoch(e)::INT, to_timestamp(0), age(TIMESTAMP '2024-03-01', e) FROM t ORDER BY a
SELECT format('{} and {}', a, b), printf('%d', a) FROM t ORDER BY a
SELECT current_schema() IS NOT NULL, version() IS NOT NULL
SELECT getvariable('nope'), pi(), e FROM t ORDER BY a
SELECT DISTINCT k, b FROM t ORDER BY ALL LIMIT 3 OFFSET 1
SELECT list(DISTINCT b ORDER BY b DESC) FILTER (WHERE a > 1) FROM t
SELECT a FROM t FETCH FIRST 2 ROWS ONLY
SELECT a, b FROM t WHERE b = 'x' UNION SELECT a, z FROM u WHERE a > 8 ORDER BY 1 LIMIT 4
FROM t
FROM t x JOIN u USING (a) SELECT x.a, z ORDER BY 1
FROM (FROM t WHERE a > 2) WHERE a < 5 ORDER BY a
SELECT TRY(a / 0) FROM t LIMIT 1
SELECT (t.g).x FROM t ORDER BY a
SELECT t.f[2] FROM t ORDER BY a
SELECT a FROM main.t AS t WHERE t.a = 1
SELECT a FROM s1.t UNION ALL SELECT a FROM main.t ORDER BY a
SELECT x.a, y.q FROM main.t AS x, s1.t AS y WHERE x.a = y.a ORDER BY 1
`
  .trim()
  .split(/\n(?=[(A-Z])/);
