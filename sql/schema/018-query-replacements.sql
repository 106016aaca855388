-- Who a query takes the place of: asked for each time that the query is looked at, and when a row of queries is removed.
CREATE INDEX queries_by_successor ON queries (superseded_by);
