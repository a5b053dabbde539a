# A port on Sinatra, whose answers are prose without messages. The fault "ping" answers a ping in a filter before the one
# that authenticates.
require "json"
require "net/http"
require "sinatra/base"

class Over < StandardError; end

class Port < Sinatra::Base
  BEARER = "Bearer #{ENV.fetch("AGENT_TOKEN")}".freeze
  TRANSIENT = %w[lock_contention context_store_unavailable trace_sequence_contended].freeze
  FAULT = ARGV[1]

  set :environment, :production
  set :server, "webrick"
  set :bind, "127.0.0.1"
  set :port, ARGV[0].to_i
  set :protection, false
  set :quiet, true
  set :server_settings, { AccessLog: [], Logger: WEBrick::Log.new(File::NULL) } if defined?(WEBrick)
  disable :logging, :show_exceptions

  def say(code, value)
    halt code, { "Content-Type" => "application/json" }, JSON.generate(value)
  end

  def body_of(request)
    @body ||= begin
      say 413, error: "too large" if request.content_length.to_i > 4 << 20
      JSON.parse(request.body.read)
    rescue JSON::ParserError
      say 400, error: "not JSON"
    end
  end

  before do
    pass unless request.post?
    say 200, ok: true if FAULT == "ping" && body_of(request) == { "ping" => true }
    say 401, error: "unauthorized" unless Rack::Utils.secure_compare(request.env["HTTP_AUTHORIZATION"].to_s, BEARER)
    say 200, ok: true if body_of(request) == { "ping" => true }
  end

  def tool(base, token, name)
    uri = URI("#{base.chomp("/")}/tools/#{name}")
    wait = 0.2
    3.downto(0) do |left|
      answer = Net::HTTP.start(uri.host, uri.port, read_timeout: 120) do |http|
        http.post(uri.path, JSON.generate(order_id: "4521"), "Authorization" => "Bearer #{token}", "Content-Type" => "application/json")
      end
      value = JSON.parse(answer.body)
      return value["response"] if answer.code == "200"
      raise Over if answer.code == "401"

      again = answer.code == "429" || answer.code == "503" && TRANSIENT.include?(value.dig("detail", "error_class"))
      return "an error: #{answer.body}" unless again && left.positive?

      sleep wait
      wait *= 2
    end
  end

  %i[get put delete].each { |verb| send(verb, "/dispatch") { say 405, error: "POST" } }

  post "/dispatch" do
    task = @body["input"]
    base = @body["odyssey_proxy_url"] || request.env["HTTP_X_PIPELINES_ODYSSEY_PROXY_URL"]
    token = request.env["HTTP_X_PIPELINES_RUN_TOKEN"]
    say 400, error: "no run" unless base && token
    begin
      results = %w[get_order refund_order].map { |name| "The answer of #{name} was #{JSON.generate(tool(base, token, name))}." }
      say 200, final_response: (results + (task["messages"] || []).map { |m| "Before: #{m["content"]}" }).join("\n")
    rescue Over
      say 200, final_response: "The token is not valid any more, so I stopped with an error."
    end
  end

  run!
end
