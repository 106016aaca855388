/**
 * Load tests: runs, templates, and the current run. Each part's code is loaded on the first visit.
 */
import { Title } from "@mantine/core";
import { lazy, Suspense } from "react";
import { Outlet, Route, Routes, useLocation, useParams } from "react-router";
import { NotFound } from "../../components/page-errors.tsx";
import { PageLoading } from "../../components/page-loading.tsx";
import { PageTabs } from "../../components/page-tabs.tsx";
import "./load.css";

const HistoryPage = lazy(async () => ({
  default: (await import("./history/history-page.tsx")).HistoryPage,
}));
const ComparePage = lazy(async () => ({
  default: (await import("./compare/compare-page.tsx")).ComparePage,
}));
const TemplatesPage = lazy(async () => ({
  default: (await import("./templates/templates-page.tsx")).TemplatesPage,
}));
const TemplateEditor = lazy(async () => ({
  default: (await import("./templates/template-editor.tsx")).TemplateEditor,
}));
const RunPage = lazy(async () => ({ default: (await import("./live/run-page.tsx")).RunPage }));

const tabs = [
  { title: "Runs", href: "/load" },
  { title: "Templates", href: "/load/templates" },
];

export function Component() {
  return (
    <Routes>
      <Route element={<Frame />}>
        <Route index element={<HistoryPage />} />
        <Route path="compare" element={<ComparePage />} />
        <Route path="templates" element={<TemplatesPage />} />
        <Route path="templates/:templateId" element={<Keyed part={TemplateEditor} />} />
        <Route path="runs/:runId" element={<Keyed part={RunPage} />} />
      </Route>
      <Route path="*" element={<NotFound />} />
    </Routes>
  );
}

function Frame() {
  const { pathname } = useLocation();
  const current = pathname.startsWith("/load/templates") ? "Templates" : "Runs";
  return (
    <div className="page load-page">
      <div className="page-head load-head">
        <Title order={1}>Load tests</Title>
        <PageTabs label="Load tests" tabs={tabs} current={current} />
      </div>
      <Suspense fallback={<PageLoading />}>
        <Outlet />
      </Suspense>
    </div>
  );
}

interface KeyedProps {
  readonly part: typeof TemplateEditor | typeof RunPage;
}

/** A new id resets the part's state. */
function Keyed({ part: Part }: KeyedProps) {
  const { templateId, runId } = useParams();
  const id = templateId ?? runId ?? "";
  return <Part key={id} id={id} />;
}
