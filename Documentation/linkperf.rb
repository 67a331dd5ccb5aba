# SPDX-License-Identifier: GPL-2.0-only
# linkperf:perf-record[1] in the manual pages: a link in HTML, "perf-record(1)" in a man page.
require 'asciidoctor'
require 'asciidoctor/extensions'

class LinkPerf < Asciidoctor::Extensions::InlineMacroProcessor
  use_dsl
  named :linkperf

  def process(parent, target, attributes)
    section = attributes[1] || '1'
    text = %(#{target}(#{section}))
    return create_inline parent, :quoted, text, type: :strong unless parent.document.basebackend? 'html'

    parent.document.register :links, %(#{target}.html)
    create_anchor parent, text, type: :link, target: %(#{target}.html)
  end
end

Asciidoctor::Extensions.register do
  inline_macro LinkPerf
end
