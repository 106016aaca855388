/** Continuous queries and what they are made of. Each part's code is loaded on the first visit. */
import { Title } from "@mantine/core";
import { lazy, Suspense, useContext } from "react";
import { Outlet, Route, Routes, useLocation, useParams } from "react-router";
import { SqlSessionContext, StreamSessionContext } from "../../api/sql-session.ts";
import { useStaleClass } from "../../components/connection.tsx";
import { NotFound } from "../../components/page-errors.tsx";
import { PageLoading } from "../../components/page-loading.tsx";
import { PageTabs } from "../../components/page-tabs.tsx";
import "./streams.css";

const QueriesPage = lazy(async () => ({
  default: (await import("./queries/queries-page.tsx")).QueriesPage,
}));
const DefinitionsPage = lazy(async () => ({
  default: (await import("./definitions/definitions-page.tsx")).DefinitionsPage,
}));
const EditorPage = lazy(async () => ({
  default: (await import("./editor/editor-page.tsx")).EditorPage,
}));
const QueryPage = lazy(async () => ({
  default: (await import("./query/query-page.tsx")).QueryPage,
}));

const tabs = [
  { title: "Queries", href: "/streams" },
  { title: "Definitions", href: "/streams/definitions" },
  { title: "Editor", href: "/streams/editor" },
];

export function Component() {
  return (
    <Routes>
      <Route element={<Frame />}>
        <Route index element={<QueriesPage />} />
        <Route path="definitions" element={<DefinitionsPage />} />
        <Route path="editor" element={<OwnEditor />} />
        <Route path="queries/:queryKey" element={<KeyedQuery />} />
      </Route>
      <Route path="*" element={<NotFound />} />
    </Routes>
  );
}

function Frame() {
  const { pathname } = useLocation();
  const stale = useStaleClass();
  return (
    <div className={`page ${stale}`}>
      {!pathname.startsWith("/streams/queries/") && (
        <div className="page-head">
          <Title order={1}>Streams</Title>
          <PageTabs label="Streams" tabs={tabs} current={currentTab(pathname)} />
        </div>
      )}
      <Suspense fallback={<PageLoading />}>
        <Outlet />
      </Suspense>
    </div>
  );
}

function currentTab(pathname: string): string {
  return tabs.findLast(({ href }) => pathname.startsWith(href))?.title ?? "";
}

/** Its text and result survive a visit to another page, beside those of the Overview. */
function OwnEditor() {
  return (
    <SqlSessionContext value={useContext(StreamSessionContext)}>
      <EditorPage />
    </SqlSessionContext>
  );
}

/** Another query resets the part's state. */
function KeyedQuery() {
  const { queryKey = "" } = useParams();
  return <QueryPage key={queryKey} queryKey={queryKey} />;
}
