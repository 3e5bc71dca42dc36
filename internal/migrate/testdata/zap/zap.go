// Package zap has the signatures of go.uber.org/zap that cases need.
package zap

import "go.uber.org/zap/zapcore"

type Logger struct{}

type Option interface{}

func New(core zapcore.Core, options ...Option) *Logger { return nil }

func (*Logger) Sync() error { return nil }

func NewDevelopmentEncoderConfig() zapcore.EncoderConfig { return zapcore.EncoderConfig{} }

func NewProductionEncoderConfig() zapcore.EncoderConfig { return zapcore.EncoderConfig{} }
