// The pages are those of source/, into which "go run ." copies docs/ and writes the Go API.
import { readFileSync, readdirSync } from 'node:fs'
import { posix } from 'node:path'
import { defineConfig } from 'vitepress'

const source = 'source'
const repository = 'https://github.com/kctrl-dev/kctrl'

const pages = (dir) => readdirSync(`${source}/${dir}`, { recursive: true })
  .filter((file) => file.endsWith('.md') && file !== 'index.md')
  .sort()
  .map((file) => page(posix.join(dir, file)))

const page = (path) => ({
  text: readFileSync(`${source}/${path}`, 'utf8').match(/^# (.*)$/m)[1].replace(/`/g, ''),
  link: '/' + path.replace(/\.md$/, ''),
})

// slugify makes the anchors of GitHub.
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')

// relative makes links between files of the repository links between pages, and links to other files links to GitHub.
function relative(href, path) {
  const [file, anchor = ''] = href.split(/(?=#)/)
  if (/^([a-z]+:|#|$)/.test(href) || path.startsWith('api/')) return href
  const target = posix.join(path === 'index.md' ? '.' : posix.join('docs', posix.dirname(path)), file)
  if (!target.startsWith('docs/')) return `${repository}/tree/main/${target}${anchor}`
  const written = target.slice('docs/'.length).replace(/^api\.txt$/, 'api/index.md').replace(/README\.md$/, 'index.md')
  return './' + posix.relative(posix.dirname(path), written) + anchor
}

export default defineConfig({
  title: 'kctrl',
  description: 'Scaffold, generate, test and run Kubernetes operators in Go',
  srcDir: source,
  outDir: '../bin/site',
  cacheDir: '../bin/site-cache',
  vite: { build: { chunkSizeWarningLimit: 4096 } }, // the index of the search
  head: [
    ['link', { rel: 'icon', href: 'data:,' }],
    ['style', {}, '.vp-doc [class*=language-] > span.lang { color: var(--vp-c-text-2) }'], // for contrast
    // Long names break, so that tables show their last column.
    ['style', {}, '.vp-doc td code { overflow-wrap: anywhere } .vp-doc td:first-child { min-width: 13em }'],
    // The Tab key skips the links of a closed menu on a narrow screen.
    ['style', {}, '@media (max-width: 959px) { .VPSidebar:not(.open) { visibility: hidden } }'],
  ],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify },
    config(md) {
      md.core.ruler.push('repository', ({ tokens, env }) => {
        for (const token of tokens.flatMap((t) => [t, ...t.children ?? []])) {
          const name = { link_open: 'href', image: 'src' }[token.type]
          if (name) token.attrSet(name, relative(token.attrGet(name), env.relativePath))
          if (token.type === 'code_inline') token.attrSet('v-pre', '') // Vue would look for templates
          if (token.type === 'code_block') Object.assign(token, { type: 'fence', info: 'go' }) // of a Go comment
        }
      })
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/guide/' },
      { text: 'How do I …?', link: '/guide/how-do-i' },
      { text: 'Commands', link: '/cli/kctrl' },
      { text: 'Markers', link: '/markers' },
      { text: 'Metrics', link: '/metrics' },
      { text: 'Go API', link: '/api/' },
    ],
    sidebar: [
      { text: 'Guide', link: '/guide/', items: pages('guide') },
      {
        text: 'Reference',
        items: [
          { text: 'Commands', link: '/cli/kctrl', collapsed: true, items: pages('cli') },
          page('markers.md'),
          page('metrics.md'),
          { text: 'Go API', link: '/api/', collapsed: true, items: pages('api') },
          ...['postprocess', 'conformance', 'compatibility', 'kubernetes', 'benchmarks'].map((name) => page(`${name}.md`)),
        ],
      },
      {
        text: 'Checks and simulations',
        items: ['verify', 'diff', 'rbac', 'vet', 'sim', 'chaos'].map((name) => page(`${name}.md`)),
      },
      {
        text: 'Coming from other tools',
        items: ['from-kubebuilder', 'from-controller-runtime', 'controller-gen', 'migration', 'drop-in']
          .map((name) => page(`${name}.md`)),
      },
      {
        text: 'For contributors',
        items: ['CONTRIBUTING', 'ARCHITECTURE', 'fidelity', 'corpus', 'seeds', 'research-questions']
          .map((name) => page(`${name}.md`)),
      },
    ],
    socialLinks: [{ icon: 'github', link: repository }],
  },
})
